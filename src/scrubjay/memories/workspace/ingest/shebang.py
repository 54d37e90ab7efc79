"""The program that the first line of a script names, and the language that it speaks."""

import re
from typing import Final

_SHEBANG: Final = re.compile(r"#!\s*\S*?(?:/env\s+(?:-S\s+)?)?(?P<program>[A-Za-z+]+)[\d.]*(?:\s|\Z)")
_BY_PROGRAM: Final = {
    "python": "python",
    "pypy": "python",
    "sh": "bash",
    "bash": "bash",
    "zsh": "bash",
    "ksh": "bash",
    "dash": "bash",
    "node": "javascript",
    "deno": "typescript",
    "ruby": "ruby",
    "perl": "perl",
    "php": "php",
    "lua": "lua",
    "julia": "julia",
    "groovy": "groovy",
    "make": "make",
}


def language_of_script(first_line: str) -> str | None:
    """The language of a script that begins with this line; None when the line names no program that is known."""
    named = _SHEBANG.match(first_line)
    return _BY_PROGRAM.get(named["program"].lower()) if named is not None else None
