"""The tokenizer of the bundled model, loaded once and shared by whoever counts or embeds."""

import re
import threading
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from scrubjay.errors import EmbedderUnavailable

if TYPE_CHECKING:
    from tokenizers import Tokenizer

PIECE: Final = 32_768
"""Characters that a tokenizer is given at a time."""

_TEXTS: Final = 1_000
"""Texts that it is given at a time."""

_SEAM: Final = re.compile("[\\s\u4e00-\u9fff]")
"""Where a word ends: at white space, and before a Chinese character, which is a word of its own."""

_loading = threading.Lock()


def wordpiece() -> "Tokenizer":
    """Return the tokenizer, which neither cuts nor pads."""
    with _loading:
        return _load()


@cache
def _load() -> "Tokenizer":
    # Here, because it takes as long to import as the rest of the library.
    from tokenizers import Tokenizer  # noqa: PLC0415  # on first use

    path = files("scrubjay.models.minilm") / "tokenizer.json"
    try:
        return Tokenizer.from_str(path.read_text("utf-8"))
    except OSError as error:
        raise EmbedderUnavailable(f"{path} cannot be read ({error}). Install scrubjay again") from error


def encode(tokenizer: "Tokenizer", texts: Sequence[str], *, special: bool = True) -> list[list[int]]:
    """Return the token ids of each text. Halves of surrogate pairs, which are no text, count as one odd character.

    What the tokenizer makes of a text takes hundreds of bytes for each token, so it is given a little at a time.
    """
    found: list[list[int]] = []
    for group in _groups(texts):
        if len(group) > 1 or len(group[0]) <= PIECE:
            found += _encoded(tokenizer, group, special=special)
            continue
        first, *others = pieces_of(group[0])
        [ids] = _encoded(tokenizer, [first], special=special)
        end = ids[-1:] if special else []
        del ids[len(ids) - len(end) :]
        for piece in others:
            ids += _encoded(tokenizer, [piece], special=False)[0]
        found.append(ids + end)
    return found


def pieces_of(text: str) -> list[str]:
    """A long text cut between words, where its tokens stay the same. A word goes whole, however long it is."""
    pieces, start = [], 0
    while len(text) - start > PIECE and (seam := _SEAM.search(text, start + PIECE)) is not None:
        pieces.append(text[start : seam.start()])
        start = seam.start()
    return [*pieces, text[start:]]


def _groups(texts: Sequence[str]) -> Iterator[list[str]]:
    """The texts in order, as many at a time as are short; a long one comes alone."""
    group: list[str] = []
    size = 0
    for text in texts:
        size += len(text)
        if group and (size > PIECE or len(group) == _TEXTS):
            yield group
            group, size = [], len(text)
        group.append(text)
    if group:
        yield group


def _encoded(tokenizer: "Tokenizer", texts: list[str], *, special: bool) -> list[list[int]]:
    try:
        encodings = tokenizer.encode_batch(texts, add_special_tokens=special)
    except TypeError:
        whole = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
        encodings = tokenizer.encode_batch(whole, add_special_tokens=special)
    return [encoding.ids for encoding in encodings]
