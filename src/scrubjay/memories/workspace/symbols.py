"""Symbols: the names that a file defines, seen by the words that languages begin definitions with.

A line is enough to see most of them, in any language and in a file that is cut off, and nothing has to be installed.
"""

import re
from collections.abc import Iterator
from typing import Final

_NAME: Final = r"(?P<name>[A-Za-z_$][\w$]*)"
_BEFORE: Final = (
    r"^[ \t]*(?:(?:export|default|public|private|protected|internal|static|final|abstract|async|pub(?:\([a-z]+\))?|"
    r"override|virtual|inline|sealed|open|data|partial|unsafe|extern|const)[ \t]+)*"
)
_DEFINITION: Final = re.compile(
    _BEFORE + r"(?:def|class|function\*?|func|fn|fun|interface|trait|struct|enum|type|module|namespace|object|protocol|"
    r"record)[ \t]+(?:\([^)\n]*\)[ \t]*)?(?:self\.)?" + _NAME,
    re.MULTILINE,
)
_ARROW: Final = re.compile(
    r"^[ \t]*(?:export[ \t]+)?(?:const|let|var)[ \t]+" + _NAME + r"[ \t]*(?::[^=\n]+)?=[ \t]*(?:async[ \t]*)?"
    r"(?:function\b|\([^)\n]*\)[ \t]*(?::[^=\n]+)?=>|\w+[ \t]*=>)",
    re.MULTILINE,
)
_TABLE: Final = re.compile(
    r"^[ \t]*create[ \t]+(?:or[ \t]+replace[ \t]+)?(?:table|view|function|procedure|index|trigger)[ \t]+"
    r"(?:if[ \t]+not[ \t]+exists[ \t]+)?[\"`\[]?" + _NAME,
    re.MULTILINE | re.IGNORECASE,
)
_SHELL: Final = re.compile(r"^[ \t]*" + _NAME + r"[ \t]*\(\)[ \t]*\{", re.MULTILINE)

_OF_LANGUAGE: Final = {"sql": (_TABLE,), "bash": (_SHELL, _DEFINITION)}
_CODE: Final = (_DEFINITION, _ARROW)
_NOT_CODE: Final = frozenset(
    {"css", "csv", "html", "ini", "json", "make", "markdown", "restructuredtext", "text", "toml", "xml", "yaml"}
)
_COMMON: Final = frozenset({"__init__", "__repr__", "__str__", "constructor", "if", "for", "main", "test"})


def symbols_of(text: str, language: str | None) -> list[str]:
    """The names that this text defines, each once, in order. Names that every file has are left out."""
    if language is None or language in _NOT_CODE:
        return []
    return list(dict.fromkeys(_names(text, language)))


def _names(text: str, language: str) -> Iterator[str]:
    found = sorted(
        (match.start("name"), match["name"])
        for pattern in _OF_LANGUAGE.get(language, _CODE)
        for match in pattern.finditer(text)
    )
    yield from (name for _, name in found if name not in _COMMON and len(name) > 1)
