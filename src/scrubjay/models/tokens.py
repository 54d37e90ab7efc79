"""Counting tokens for budgets, the way a large language model would."""

import importlib.util
import re
import threading
from typing import Any

from scrubjay.errors import Misconfigured
from scrubjay.models.wordpiece import pieces_of, wordpiece
from scrubjay.ports import Tokens

_UNKNOWN = 100

# Language models read line ends, indentation, and a space before a number or at the end; WordPiece drops them.
_GAP = re.compile(r"\s{2,}|[^\S ]| (?=\d|$)")
_GAP_LENGTH = 16


class WordPiece:
    """Counts with the bundled tokenizer and leans to the high side, so that a budget holds in practice.

    What the vocabulary does not know (emoji, long words, some scripts) is counted by its characters, an emoji as two,
    and white space is counted too. Measured against o200k: 1.1 times as many on conversations, 1.4 on code, up to 3 on
    languages other than English.
    """

    def count(self, text: str) -> int:
        """Return an estimate that is seldom below what o200k counts."""
        readable = text.encode("utf-8", "replace").decode("utf-8")
        gaps = sum(1 + len(gap) // _GAP_LENGTH for gap in _GAP.findall(readable))
        return gaps + sum(map(self._words, pieces_of(readable)))

    def _words(self, text: str) -> int:
        encoding = wordpiece().encode(text, add_special_tokens=False)
        unknown = sum(
            len(text[start:stop].encode("utf-16-le")) // 2 - 1
            for token, (start, stop) in zip(encoding.ids, encoding.offsets, strict=True)
            if token == _UNKNOWN
        )
        return len(encoding.ids) + unknown


class O200k:
    """Counts exactly as the models of OpenAI since GPT-4o do. Its vocabulary is loaded on first use."""

    def __init__(self) -> None:
        if not _has_bpe():
            raise Misconfigured("The tokenizer o200k needs the package rs-bpe: pip install 'scrubjay[tokens]'")
        self._loading = threading.Lock()
        self._encoding: Any = None

    def count(self, text: str) -> int:
        """Return the number of tokens of this text."""
        with self._loading:
            if self._encoding is None:
                from rs_bpe.bpe import openai  # noqa: PLC0415  # 50 MB, on first use

                self._encoding = openai.o200k_base()
        return int(self._encoding.count(text.encode("utf-8", "replace").decode("utf-8")))


def tokens_of(name: str) -> Tokens:
    """Return the counter that a setting names: `wordpiece`, `o200k`, or `auto`: o200k where it is installed."""
    match name:
        case "auto":
            return O200k() if _has_bpe() else WordPiece()
        case "wordpiece":
            return WordPiece()
        case "o200k":
            return O200k()
    raise Misconfigured(f"SCRUBJAY_TOKENIZER is {name!r}: use auto, wordpiece or o200k")


def _has_bpe() -> bool:
    return importlib.util.find_spec("rs_bpe") is not None
