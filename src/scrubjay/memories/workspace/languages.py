"""Languages: what a file is written in, by its name."""

from pathlib import PurePosixPath
from typing import Final

_ENDINGS: Final = {
    "bash": "bash bats sh zsh",
    "c": "c h",
    "cpp": "cc cpp cxx hh hpp hxx",
    "csharp": "cs",
    "css": "css less scss",
    "csv": "csv tsv",
    "dart": "dart",
    "elixir": "ex exs",
    "erlang": "erl hrl",
    "fortran": "f90 f95 for",
    "go": "go",
    "graphql": "gql graphql",
    "groovy": "gradle groovy",
    "haskell": "hs",
    "html": "htm html xhtml",
    "ini": "cfg conf ini properties",
    "java": "java",
    "javascript": "cjs js jsx mjs",
    "json": "json jsonl ndjson",
    "julia": "jl",
    "kotlin": "kt kts",
    "lua": "lua",
    "make": "mk",
    "markdown": "markdown md mdx",
    "objective-c": "m mm",
    "ocaml": "ml mli",
    "perl": "pl pm",
    "php": "php",
    "powershell": "ps1 psm1",
    "protobuf": "proto",
    "python": "py pyi pyw",
    "r": "r",
    "restructuredtext": "rst",
    "ruby": "rake rb",
    "rust": "rs",
    "scala": "sbt scala",
    "sql": "sql",
    "svelte": "svelte",
    "swift": "swift",
    "terraform": "tf tfvars",
    "text": "text txt",
    "toml": "toml",
    "typescript": "cts mts ts tsx",
    "vue": "vue",
    "xml": "xml xsd xsl",
    "yaml": "yaml yml",
    "zig": "zig",
}
_NAMES: Final = {
    "dockerfile": "dockerfile",
    "containerfile": "dockerfile",
    "makefile": "make",
    "gnumakefile": "make",
    "cmakelists.txt": "cmake",
    "rakefile": "ruby",
    "gemfile": "ruby",
    "jenkinsfile": "groovy",
    "readme": "text",
    "license": "text",
}
_OF_ENDING: Final = {ending: language for language, endings in _ENDINGS.items() for ending in endings.split()}

PROSE: Final = frozenset({"csv", "ini", "json", "markdown", "restructuredtext", "text", "toml", "xml", "yaml"})
"""Languages that a job is seldom written in: it counts as these only when nothing else is there."""


def language_of(path: str) -> str | None:
    """The language that a file's name speaks of; None when it speaks of none."""
    name = PurePosixPath(path).name.lower()
    return _NAMES.get(name) or _OF_ENDING.get(name.rpartition(".")[2] if "." in name else "")
