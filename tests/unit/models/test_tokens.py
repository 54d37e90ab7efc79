"""Counting tokens for budgets."""

import pytest

from scrubjay.errors import Misconfigured
from scrubjay.models import tokens, tokens_of
from scrubjay.models.tokens import O200k, WordPiece
from scrubjay.models.wordpiece import PIECE, encode, wordpiece

SAMPLES = {
    "prose": "The deployment failed because the database migration was never applied to the staging cluster. " * 5,
    "numbers": "From 10 to 20 January 2024 there were 3 incidents and 17 warnings in 5 regions.",
    "code": "def f(x):\n        if x:\n                return {\n                'a':   1,\n            }\n\n\n",
    "german": "Die Bereitstellung ist fehlgeschlagen. Donaudampfschifffahrtsgesellschaftskapitän.",
    "russian": "Развертывание не удалось, потому что миграция базы данных так и не была применена.",
    "chinese": "部署失败了，因为数据库迁移从未应用到预发布集群。",
    "thai": "การปรับใช้ล้มเหลวเนื่องจากไม่เคยใช้การย้ายฐานข้อมูล",
    "korean": "데이터베이스 마이그레이션이 적용되지 않아 배포에 실패했습니다.",
    "hindi": "परिनियोजन विफल रहा क्योंकि डेटाबेस माइग्रेशन कभी लागू नहीं किया गया था।",
    "emoji": "🎉🚀🔥😀 ✅❌",
    "base64": "aGVsbG8gd29ybGQgdGhpcyBpcyBhIGxvbmcgYmFzZTY0IHN0cmluZyB0aGF0IGlzIHZlcnkgbG9uZyBhbmQgaGFzIG5vIHNwYWNlcw"
    * 3,
    "white space": " " * 300 + "x" + "\n" * 100,
}


@pytest.mark.parametrize("name", SAMPLES)
def test_wordpiece_leans_to_the_high_side(name):
    text = SAMPLES[name]
    exact, estimate = O200k().count(text), WordPiece().count(text)
    assert exact <= estimate <= 3.5 * exact


def test_wordpiece_is_close_on_prose():
    text = SAMPLES["prose"]
    assert WordPiece().count(text) < 1.15 * O200k().count(text)


@pytest.mark.parametrize("name", ["wordpiece", "o200k"])
def test_nothing_has_no_tokens_and_oddities_are_safe(name):
    counter = tokens_of(name)
    assert counter.count("") == 0
    assert counter.count("\ud83d half a pair") > 3
    assert counter.count("<|endoftext|> is only text here") > 3


def test_o200k_is_exact():
    assert O200k().count("hello world") == 2
    assert O200k().count("Prefers tabs over spaces") == 5


def test_auto_takes_o200k_where_it_is_installed(monkeypatch):
    assert isinstance(tokens_of("auto"), O200k)
    monkeypatch.setattr(tokens.importlib.util, "find_spec", lambda _: None)
    assert isinstance(tokens_of("auto"), WordPiece)


def test_a_missing_package_names_the_extra(monkeypatch):
    monkeypatch.setattr(tokens.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(Misconfigured, match=r"pip install 'scrubjay\[tokens\]'"):
        tokens_of("o200k")


def test_an_unknown_name_is_an_error():
    with pytest.raises(Misconfigured, match="SCRUBJAY_TOKENIZER is 'gpt': use auto, wordpiece or o200k"):
        tokens_of("gpt")


@pytest.mark.parametrize("special", [True, False])
@pytest.mark.parametrize(
    "text",
    ["漢字" * 40_000, "1 " * 40_000, "don't stop, café naïve\n" * 4_000, "x" * 80_000, "漢 x" * 9_000 + "y" * 70_000],
)
def test_a_long_text_has_the_tokens_that_it_has_as_a_whole(text, special):
    whole = wordpiece().encode(text, add_special_tokens=special).ids
    assert encode(wordpiece(), ["short", text, "漢"], special=special)[1] == whole


def test_a_tokenizer_is_given_a_little_at_a_time():
    class Counting:
        def __init__(self):
            self.most = self.texts = 0

        def encode_batch(self, texts, **given):
            self.most = max(self.most, sum(map(len, texts)))
            self.texts = max(self.texts, len(texts))
            return wordpiece().encode_batch(texts, **given)

    counting = Counting()
    found = encode(counting, ["漢" * 900_000, *["a b"] * 5_000, "1 " * 20_000])
    assert [len(found[0]), len(found[1]), len(found[-1]), len(found)] == [900_002, 4, 20_002, 5_002]
    assert counting.most <= PIECE + 1
    assert counting.texts <= 1_000
