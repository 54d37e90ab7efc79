"""The words of a text, for search by words: prose in any script, and identifiers of code taken apart."""

import re
import unicodedata
from typing import Final

from scrubjay.model.memory import QUIET_KINDS, Memory
from scrubjay.model.sealed import is_sealed, words_in

MOST_TERMS: Final = 32
"""Words of one question that are looked for. A longer question is searched by its rarest-looking ones."""

STOP_WORDS: Final = frozenset(
    """a about after all also am an and any are as at be because been but by can could did do does doing for from
    get had has have having he her here him his how i if in into is it its just me my no not of on one or our out
    she should so some such than that the their them then there these they this those to too up us was we were
    what when where which who whom why will with would you your""".split()  # noqa: SIM905 -- a list of 90 strings reads worse
)

_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W\d_]+)?|_", re.UNICODE)
_CHUNK: Final = re.compile(r"\w[\w.\-]*\w|\w", re.UNICODE)
_HUMPS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])")
_ASCII: Final = [chr(code) for code in range(128)]
_PLAIN: Final = "".join(sign.lower() if sign.isalnum() else " " for sign in _ASCII).encode().ljust(256)
"""ASCII in lower case, with a space for whatever is part of no word."""

_SHAPE: Final = (
    "".join(
        "a" if sign.islower() else "A" if sign.isupper() else "0" if sign.isdigit() else "." if sign in "._-" else " "
        for sign in _ASCII
    )
    .encode()
    .ljust(256)
)
# Each alternative begins with a rare sign, so that prose is skipped at the speed of a search for three letters.
_FROM_A_SEAM: Final = re.compile(rb"(?:A(?:(?<=[a0]A)|(?=Aa))|0(?:(?<=[aA]0)|(?=[aA]))|\.(?=[aA0]))[^ ]*")
"""An identifier from its first seam on, by its shape: where case, letters and digits change, or after a dot or dash."""

_HUMP: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
"""One part of an identifier in ASCII, cut where `_HUMPS` cuts."""

_NO_SPACES: Final = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u0e00-\u0e7f\uac00-\ud7af]+")


def words_of(text: str) -> list[str]:
    """The words to index, in order, folded to lower case without accents.

    An identifier gives itself and its parts (`getUserName`, `snake_case`, `os.path`, `kebab-case`), and a run of a
    script that writes no spaces gives its pairs of characters.
    """
    if text.isascii():
        return _plain(text).split()
    text = _NO_SPACES.sub(_pairs, unicodedata.normalize("NFKC", text))
    words: list[str] = []
    for token in text.split():
        if token.isalpha() and (token.islower() or token.istitle() or token.isupper()):
            words.append(_fold(token))
        else:
            words += [word for chunk in _CHUNK.findall(token) for word in _parts(chunk)]
    return words


def _plain(text: str) -> str:
    """The words of a text in ASCII, with blanks between. Only what has the shape of an identifier is taken apart."""
    raw = text.encode()
    plain = raw.translate(_PLAIN).decode()
    shape = raw.translate(_SHAPE)
    pieces: list[str] = []
    done = 0
    for seam in _FROM_A_SEAM.finditer(shape):
        start = shape.rfind(b" ", done, seam.start()) + 1 or done
        pieces.append(plain[done:start])
        done = seam.end()
        parts = _HUMP.findall(text, start, done)
        pieces += [*parts, "".join(parts)] if len(parts) > 1 else parts
    return " ".join((*pieces, plain[done:])).lower() if done else plain


def _parts(chunk: str) -> list[str]:
    """The parts of an identifier, and all of it when there are several."""
    if chunk.isalpha() and (chunk.islower() or chunk.istitle() or chunk.isupper()):
        return [_fold(chunk)]
    parts = [part for piece in _WORD.findall(chunk) if piece != "_" for part in _HUMPS.split(piece)]
    folded = [_fold(part) for part in parts]
    return [*folded, "".join(folded)] if len(folded) > 1 else folded


def words_of_memory(memory: Memory) -> list[str]:
    """The words that a memory is found by: those of its key, of who said it, of its content. Quiet ones have none."""
    if memory.kind in QUIET_KINDS:
        return []
    words = words_in(memory.content) if is_sealed(memory.content) else words_of(memory.content)
    names = f"{memory.key or ''} {memory.speaker}".strip()
    return words_of(names) + words if names else words


def text_of_words(memory: Memory) -> str:
    """The same in one text, with blanks between: what an index that takes texts apart by itself is given."""
    content = memory.content
    stands_alone = memory.key is None and memory.author is None and memory.kind not in QUIET_KINDS
    if stands_alone and content.isascii() and not is_sealed(content):
        return _plain(content)
    return " ".join(words_of_memory(memory))


def terms_of(question: str) -> list[str]:
    """The words of a question worth looking for: each once, common ones dropped unless nothing else is left."""
    words = list(dict.fromkeys(words_of(question)))
    telling = [word for word in words if word not in STOP_WORDS] or words
    if len(telling) <= MOST_TERMS:
        return telling
    # Long words are rare words, near enough, and only a question of over 32 words is cut at all.
    kept = set(sorted(telling, key=len, reverse=True)[:MOST_TERMS])
    return [word for word in telling if word in kept]


def _fold(word: str) -> str:
    if word.isascii():
        return word.lower()
    plain = unicodedata.normalize("NFKD", word.casefold())
    return "".join(letter for letter in plain if not unicodedata.combining(letter)) or word


def _pairs(found: re.Match[str]) -> str:
    run = found.group()
    return " " + " ".join(run[place : place + 2] for place in range(max(1, len(run) - 1))) + " "
