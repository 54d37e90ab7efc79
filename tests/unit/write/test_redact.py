"""Secrets go, everything else stays: two labelled sets, properties over random text, and hostile text."""

import json
import time
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrubjay.write.normalize import normalized
from scrubjay.write.redact import SecretRedactor, clean_text, redacted
from scrubjay.write.secrets import RULES, TOKEN, TOKEN_SIGNS

HERE = Path(__file__).parent
SECRETS = [json.loads(line) for line in (HERE / "secrets.jsonl").read_text("utf-8").splitlines()]
"""Made-up secrets in parts, so that the scanners of code hosts have nothing to find here."""
HARMLESS = [json.loads(line) for line in (HERE / "ordinary.jsonl").read_text("utf-8").splitlines()]
ORDINARY = [one["text"] for one in HARMLESS]
LANGUAGES = {one.get("language") for one in HARMLESS}

redactor = SecretRedactor()
words = st.text(alphabet="abcdefghij äß東🗼\n\t.,()!?", max_size=40)
anything = st.one_of(st.text(max_size=200), st.sampled_from(ORDINARY))


def secret_of(case):
    return "".join(case["secret"])


def text_of(case):
    return case["before"] + secret_of(case) + case["after"]


@pytest.mark.parametrize("case", SECRETS, ids=[f"{place}-{case['kind']}" for place, case in enumerate(SECRETS)])
def test_a_secret_is_replaced_and_what_stands_around_it_stays(case):
    clean, kinds = redactor.redact(text_of(case))

    assert clean.startswith(case["before"])
    assert clean.removeprefix(case["before"]).startswith(f"[redacted:{case['kind']}]"), clean
    assert clean.endswith(case["after"])
    assert secret_of(case) not in clean
    assert all(part not in clean for part in case["secret"] if len(part) > 8 and "KEY" not in part)
    assert kinds == (case["kind"],)


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_stays_as_it_is(text):
    assert redactor.redact(text) == (text, ())


def test_the_shortest_text_with_a_secret_is_cleaned():
    assert redactor.redact("PW=ab12") == ("PW=[redacted:password]", ("password",))
    assert redactor.redact("密码:ab12!x") == ("密码:[redacted:password]", ("password",))


def test_the_labelled_sets_are_large_and_know_every_kind():
    assert len(SECRETS) >= 250
    assert len(ORDINARY) >= 390
    assert {"en", "de", "fr", "es", "zh", "ja"} <= LANGUAGES
    assert {case["kind"] for case in SECRETS} == {rule.kind for rule in RULES}


def test_all_ordinary_texts_together_stay_as_they_are():
    text = "\n".join(ORDINARY)
    assert redactor.redact(text) == (text, ())


def test_all_secrets_together_are_found_and_kinds_are_sorted_and_unique():
    clean, kinds = redactor.redact("\n\n".join(map(text_of, SECRETS)))

    assert not [case for case in SECRETS if secret_of(case) in clean]
    assert kinds == tuple(sorted({case["kind"] for case in SECRETS}))


def test_a_secret_access_key_is_found_beside_its_access_key():
    access, secret = "AKIA" + "Q7RT2XW9LM4ZP8KD", "q7Rt2Xw9Lm4Zp8Kd1V" + "b6Nc3Yh5/g0Fs2Da+Pq7Rt"
    secret += "x" * (40 - len(secret))
    clean, kinds = redactor.redact(f"{access} {secret}")

    assert clean == "[redacted:aws-access-key] [redacted:aws-secret-key]"
    assert kinds == ("aws-access-key", "aws-secret-key")


@given(st.lists(st.one_of(anything, st.sampled_from(SECRETS).map(text_of)), max_size=6).map(" ".join))
def test_redacting_twice_equals_redacting_once(text):
    clean, _ = redactor.redact(text)
    assert redactor.redact(clean) == (clean, ())


@given(words)
def test_text_without_triggers_is_unchanged(text):
    assert redactor.redact(text) == (text, ())


@given(words, st.sampled_from(SECRETS), words)
def test_no_secret_survives_in_other_text(before, case, after):
    clean, kinds = redactor.redact(f"{before} {text_of(case)} {after}")

    assert secret_of(case) not in clean
    assert case["kind"] in kinds


@given(st.sampled_from(SECRETS), st.sampled_from(SECRETS))
def test_two_secrets_side_by_side_both_go(one, other):
    clean, kinds = redactor.redact(f"{text_of(one)}\n{text_of(other)}")

    assert secret_of(one) not in clean
    assert secret_of(other) not in clean
    assert set(kinds) >= {one["kind"], other["kind"]}


OTHER_NAMES = (
    *("parola", "Kennwort", "Lösenord", "adgangskode", "heslo", "ﾊﾟｽﾜｰﾄﾞ", "暗証番号", "Geheimnis", "jeton", "chave API"),
    *("ключ API", "シークレット", "トークン", "API 키", "토큰"),
)
HALF = "q7Rt2Xw9Lm4Zp8Kd1Vb6Nc3Yh5/g0Fs2Da+Pq7Rt"
MORE = [
    f"AKIA{'Q7RT2XW9LM4ZP8KD'} {HALF}",
    f"PuTTY-User-Key-File-2: ssh-rsa\nPrivate-Lines: 1\n{HALF}\nPrivate-MAC: 1",
    f"notion secret_{HALF.replace('/', 'k').replace('+', 'w')}q7R",
    f"ibm cos_secret_access_key = {'9f3a7c1e5b2d8f4a6c0e9b3d' * 2}",
    f"square EAAA{HALF.replace('/', 'k').replace('+', 'w')}q7Rt2Xw9Lm4Zp8Kd1Vb6",
    *(f"{word}: q7Rt2Xw9Lm4Z8Kd1" for word in OTHER_NAMES),
]
"""Texts for rules of whose kind the labelled set has others."""
LABELLED = [*map(text_of, SECRETS), *MORE]


@cache
def found_by(rule):
    """The labelled texts, as their reader sees them, in which this rule finds something."""
    return [seen for text in LABELLED if any(rule.find(seen := normalized(text).text))]


def shorter(text):
    """The text without a half of it, a quarter, and so on to single signs, from every place."""
    size = len(text)
    while size := size // 2:
        yield from (text[:start] + text[start + size :] for start in range(0, len(text), size))


def shrunk(text, rule):
    """What is left of a text when nothing more can be taken away without losing what the rule finds; all on the way."""
    while text is not None:
        yield text
        text = next((less for less in shorter(text) if any(rule.find(less))), None)


def most_signs(text):
    runs = "".join(sign if sign in TOKEN_SIGNS else " " for sign in text).split()
    return max(map(len, runs), default=0)


@pytest.mark.parametrize("rule", RULES, ids=[f"{place}-{rule.kind}" for place, rule in enumerate(RULES)])
def test_every_rule_finds_something_and_has_a_source(rule):
    assert found_by(rule)
    assert rule.source
    assert rule.begins


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.is_token], ids=lambda rule: rule.kind)
def test_what_a_rule_of_tokens_finds_has_the_signs_without_which_it_is_not_asked(rule):
    for text in found_by(rule)[:3]:
        assert [less for less in shrunk(text, rule) if most_signs(less) < TOKEN] == []


@pytest.mark.parametrize("rule", RULES, ids=[f"{place}-{rule.kind}" for place, rule in enumerate(RULES)])
def test_what_a_rule_finds_is_found_however_little_stands_around_it(rule):
    for text in found_by(rule)[:5]:
        assert [less for less in shrunk(text, rule) if redactor.redact(less) == (less, ())] == []


HOSTILE = [
    "eyJ",
    "sk-",
    "password=",
    "password is ",
    "://a:",
    "://a:b@",
    "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\nAAAAAAAAAAAAAAAAAAAAAAAA\n",
    "-----BEGIN PRIVATE KEY-----\nAb-Cd: ",
    "-----BEGIN PRIVATE KEY-----\n" + "Abc: " * 5000 + "!",
    "-----BEGIN PRIVATE KEY-----\n" + "Abc: xAbc: \t" * 5000 + "!",
    "token:\t",
    "api_key=a1",
    "softlayer_key" + " " * 5000,
    "ibm cos_secret_key" + " " * 5000,
    "aws key '",
    "AKIAAKIA",
    "bearer ",
    "Basic QUFB",
    "M",
    "MMMMMMMMMMMMMMMMMMMMMMMM.",
    "a",
    " ",
    "[redacted:password]",
    "password=[redacted:password]",
    "curl ",
    "--password ",
    "Private-Lines: 1 A PuTTY-User-Key ",
    "https://cloudant",
    "api_key=",
    "api_key:a1",
    "{",
    "[",
    '[{"a":',
    '\\"',
    "\\\\n",
    "漢",
    "密码：a1",
    "パスワードは",
    "Passwort ist ",
    "p\u200bassword=",
    "\u200b",
    "ａ",
    "| password | ",
    "| password |\n",
    "| password |\n|---|\n",
    "password,",
    "\t",
    "password,password\n",
    "password\n",
    "password (",
    "**password** ",
    "mysql -p",
    '["curl", "-u", ',
    "machine a login b password ",
    "Cookie: a=",
    "a=b;",
    "Cookie: a=b; c",
    "db:5432:",
    "otpauth://a",
    "clave de API ",
    "password=hunter2x ",
    "sk-ant-a1B2",
    "-a",
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_the_time_grows_with_the_length_of_a_hostile_text_whatever_it_is(piece):
    """A rule that grows with the square takes a hundred times as long for ten times the text."""

    def seconds(size):
        text = (piece * (size // len(piece) + 1))[:size]
        began = time.process_time()
        clean_text(redactor, text)
        return time.process_time() - began

    seconds(1_000)  # whatever is made when it is first used
    short, long = min(seconds(50_000) for _ in range(3)), seconds(500_000)
    assert long < 30 * short + 0.1


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\\n", " "])
def test_a_key_with_headers_is_found_also_where_it_is_cut_off(newline):
    begin = "-----BEGIN RSA " + "PRIVATE KEY-----"
    headers = ["Proc-Type: 4,ENCRYPTED", "DEK-Info: AES-128-CBC,3F17F5316E2BAC89", "Comment: made at home, in May"]
    text = f"before {newline.join([begin, *headers, 'MIIEpAIBAAKCAQEA7xyzabcd' * 2])}"

    assert redactor.redact(text) == ("before [redacted:private-key]", ("private-key",))


def test_every_string_of_a_write_is_cleaned():
    token = "ghp" + "_" + "q7Rt2Xw9Lm4Zp8Kd1Vb6Nc3Yh5Jg0Fs2Da4P"
    fields = {
        "content": f"use {token}",
        "source": f"https://jay:{token}@example.org/a",
        "author": "jay",
        "reason": f"told {token}",
        "key": None,
        "importance": 0.5,
        "derived_from": (token, 7),
        "data": {"list": ["fine", {"deep": [token]}], token: 1, "count": 3, "on": True, "none": None},
    }
    clean, kinds = redacted(redactor, fields)

    assert token not in json.dumps(clean)
    assert kinds == ("github-token",)
    assert clean["derived_from"] == ("[redacted:github-token]", 7)
    assert clean["content"] == "use [redacted:github-token]"
    assert clean["source"] == "https://jay:[redacted:github-token]@example.org/a"
    assert clean["data"]["list"] == ["fine", {"deep": ["[redacted:github-token]"]}]
    assert clean["data"]["[redacted:github-token]"] == 1
    assert (clean["data"]["count"], clean["data"]["on"], clean["data"]["none"]) == (3, True, None)
    assert (clean["author"], clean["key"], clean["importance"]) == ("jay", None, 0.5)
    assert token in fields["content"], "what was given is left alone"
    assert redacted(redactor, clean) == (clean, ())


def test_two_secret_names_in_one_dict_stay_two_entries():
    tokens = ["npm" + "_" + "q7Rt2Xw9Lm4Zp8Kd1Vb6Nc3Yh5Jg0Fs2Da" + end for end in ("4P", "5Q")]
    clean, _ = redacted(redactor, {"data": dict.fromkeys(tokens, "seen")})
    assert clean["data"] == {"[redacted:npm-token]": "seen", "[redacted:npm-token] 2": "seen"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("password", "letmein"),
        ("db_password", "four plain words here"),
        ("dbPassword", "bluejay"),
        ("api_key", "bluejay-key"),
        ("apiKey", "bluejay-key"),
        ("X-API-Key", "bluejay-key"),
        ("secret", "bluejay-nest"),
        ("clientSecret", "bluejay-nest"),
        ("token", "blue-jay-77"),
        ("access_token", "blue-jay-77"),
        ("authorization", "Custom blue-jay-77"),
        ("private_key", "bluejay-key"),
        ("AWS_SECRET_ACCESS_KEY", "bluejay-key"),
        ("credentials", "jay:bluejay"),
    ],
)
def test_a_field_that_names_a_credential_loses_its_value(name, value):
    data = {"outer": [{name: value}], name: [value]}
    clean, kinds = redacted(redactor, {"data": data})

    assert clean["data"] == {"outer": [{name: "[redacted:credential]"}], name: ["[redacted:credential]"]}
    assert kinds == ("credential",)


def test_a_named_value_is_a_credential_too():
    clean, kinds = redacted(redactor, {"data": {"env": [{"name": "DB_PASSWORD", "value": "bluejay"}]}})
    assert clean["data"] == {"env": [{"name": "DB_PASSWORD", "value": "[redacted:credential]"}]}
    assert kinds == ("credential",)


def test_other_fields_keep_their_values():
    data = {
        "token_count": 5,
        "tokens": ["the", "jay"],
        "token": "running",
        "next_page_token": "CAUQAA9f3a7c",
        "key": "pref:indent",
        "author": "jay",
        "password": None,
        "passwords_changed": True,
        "password_policy": "twelve letters at least",
        "pin": 1234,
        "secret": "${SECRET}",
        "api_key": "<your key>",
        "authorization": "required",
        "private_key": "/etc/ssl/private/jay.pem",
        "public_key": "ssh-ed25519 AAAAC3Nz",
        "name": "password",
        "cache_key": "9f86d081884c7d65",
        "keyboard": "qwertz-layout",
    }
    assert redacted(redactor, {"data": data}) == ({"data": data}, ())


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), anything, st.sampled_from(SECRETS).map(text_of)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.one_of(words, st.sampled_from(["password", "token", "note", "value", "name"])), inner),
    ),
    max_leaves=8,
)


@settings(max_examples=60)
@given(json_values)
def test_redacting_data_twice_equals_once(value):
    clean, _ = redacted(redactor, {"data": {"value": value}})
    assert redacted(redactor, clean) == (clean, ())
