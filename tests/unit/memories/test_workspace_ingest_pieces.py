"""Cutting files into pieces: by structure in every language that has a grammar, by headings, and by windows."""

import pytest

from scrubjay.memories.workspace.ingest import grammars, pieces
from scrubjay.memories.workspace.ingest.pieces import file_key, outline, piece_key, piece_keys, pieces_of
from scrubjay.memories.workspace.ingest.reading import source_of
from scrubjay.memories.workspace.ingest.windows import LARGEST, WINDOW
from scrubjay.model.citations import hash_of


def source(path, text):
    return source_of(path, text.encode(), None)


def symbols(path, text):
    return [piece.citation.symbol for piece in pieces_of(source(path, text))]


def names(path, text):
    return [name for piece in pieces_of(source(path, text)) for name in piece.names]


LONG = "\n".join(f"        step_{number}(first, second)" for number in range(WINDOW + 10))

PYTHON = f'''"""A shop."""

import os


@cached
def load(path):
    """Read it."""
    return open(path).read()


class Cart:
    """What was chosen."""

    limit = 10

    def total(self):
{LONG}

    # State

    @property
    def empty(self):
        return True


class Small:
    def one(self):
        return 1
'''


def test_functions_and_classes_are_wholes_and_large_classes_are_cut_by_their_members():
    found = pieces_of(source("shop.py", PYTHON))
    assert [piece.key for piece in found] == [
        "shop.py#~1",
        "shop.py#load",
        "shop.py#Cart",
        "shop.py#Cart.total",
        "shop.py#Cart.empty",
        "shop.py#Small",
    ]
    by_key = {piece.key: piece for piece in found}
    assert by_key["shop.py#load"].content.startswith("@cached\ndef load")
    assert by_key["shop.py#Cart"].content.endswith("limit = 10")
    assert by_key["shop.py#Cart.total"].content.startswith("    def total")
    assert by_key["shop.py#Cart.empty"].content.startswith("    # State\n\n    @property")
    assert by_key["shop.py#Small"].names == ("Small", "Small.one")


@pytest.mark.parametrize(
    "text", [PYTHON, PYTHON * 3, "x = 1", "\n\n\nx = 1\n\n\n", "def f(): pass; g = 1\ndef h(): pass"]
)
def test_every_line_is_in_one_piece_and_citations_quote_it(text):
    read = source("shop.py", text)
    seen = []
    for piece in pieces_of(read):
        cited = piece.citation
        assert read.lines[cited.start - 1 : cited.stop] == piece.content.split("\n")
        assert cited.hash == hash_of(piece.content)
        seen += range(cited.start, cited.stop + 1)
    assert seen == sorted(set(seen))
    assert {number for number, line in enumerate(read.lines, start=1) if line.strip()} <= set(seen)


CODE = {
    "a.js": """
export function load(a) {
  return a
}
const add = (a) => a + 1;
let plain = 3;
class Box {
  size() { return 1 }
}
""",
    "a.ts": """
export interface Shape { size: number }
export const add = (a: number): number => a + 1;
enum Color { Red }
type Name = string;
export abstract class Box {
  size(): number { return 1 }
}
""",
    "a.tsx": """
export function View() {
  return <div/>
}
""",
    "a.go": """
package shop

// Cart is one.
type Cart struct{ n int }

func (c *Cart) Total() int { return c.n }

func New() Cart { return Cart{} }
""",
    "a.rs": """
struct Cart { n: u8 }

/// Adds.
impl Cart {
    fn total(&self) -> u8 { self.n }
}

fn main() {}
""",
    "A.java": """
class Cart {
  int total() { return 1; }
}
interface Shape { int size(); }
""",
    "a.kt": """
class Cart {
  fun total(): Int = 1
}
fun main() {}
""",
    "a.scala": """
class Cart {
  def total = 1
}
object Main { def run() = 1 }
""",
    "a.c": """
#include <stdio.h>
struct cart { int n; };
static int *total(struct cart *c) {
  return &c->n;
}
""",
    "a.cpp": """
namespace shop {
template <class T> T largest(T a) { return a; }
class Cart { public: int total() { return 1; } };
}
int Cart::size() { return 2; }
""",
    "a.cs": """
namespace Shop {
  class Cart {
    int Total() { return 1; }
  }
}
""",
    "a.rb": """
module Shop
  class Cart
    def total
      1
    end
  end
end
def run
end
""",
    "a.php": """
<?php
function load() { return 1; }
class Cart { function total() { return 1; } }
""",
    "a.sh": """
#!/bin/sh
set -e
load() {
  echo 1
}
function save {
  echo 2
}
""",
}

DEFINED = {
    "a.js": "load add Box Box.size",
    "a.ts": "Shape add Color Name Box Box.size",
    "a.tsx": "View",
    "a.go": "Cart Cart.Total New",
    "a.rs": "Cart Cart.total main",
    "A.java": "Cart Cart.total Shape Shape.size",
    "a.kt": "Cart Cart.total main",
    "a.scala": "Cart Cart.total Main Main.run",
    "a.c": "cart total",
    "a.cpp": "shop shop.largest shop.Cart shop.Cart.total Cart::size",
    "a.cs": "Shop Shop.Cart Shop.Cart.Total",
    "a.rb": "Shop Shop.Cart Shop.Cart.total run",
    "a.php": "load Cart Cart.total",
    "a.sh": "load save",
}


@pytest.mark.parametrize("path", CODE)
def test_the_names_that_each_language_defines_are_found(path):
    assert list(dict.fromkeys(names(path, CODE[path].lstrip()))) == DEFINED[path].split()


@pytest.mark.parametrize("path", CODE)
def test_code_with_mistakes_in_it_is_cut_all_the_same(path):
    text = CODE[path].lstrip()
    broken = text[: len(text) * 2 // 3] + "\n)) }} ((\n" + text[len(text) // 2 :]
    read = source(path, broken)
    lines = [line for piece in pieces_of(read) for line in piece.content.split("\n") if line.strip()]
    assert lines == [line for line in read.lines if line.strip()]


def test_without_a_grammar_there_are_windows(monkeypatch):
    monkeypatch.setattr(grammars, "GRAMMARS", {})
    grammars.parser_of.cache_clear()
    try:
        assert symbols("shop.py", "def f():\n    return 1\n") == [None]
        assert not grammars.is_installed()
    finally:
        grammars.parser_of.cache_clear()


def test_a_long_function_is_cut_into_parts_that_have_its_name():
    body = "\n".join(f"    step({number})" + ("\n" if number % 20 == 0 else "") for number in range(300))
    found = pieces_of(source("a.py", f"def long():\n{body}\n"))
    assert len(found) > 3
    assert {piece.citation.symbol for piece in found} == {"long"}
    assert [piece.key for piece in found][:3] == ["a.py#long", "a.py#long~2", "a.py#long~3"]
    assert all(len(piece.content) <= LARGEST for piece in found)


def test_lines_that_are_long_make_windows_that_are_short():
    found = pieces_of(source("a.txt", "\n".join("word " * 400 for _ in range(30))))
    assert all(len(piece.content) <= LARGEST for piece in found)
    assert len(found) >= 10


def test_pages_are_cut_by_their_headings():
    text = "Before.\n\n# Shop\n\nText.\n\n## Install\n\n```sh\n# no heading\n```\n\n## Use ##\n\nIt.\n\n# More\n"
    assert symbols("README.md", text) == [None, "Shop", "Shop > Install", "Shop > Use", "More"]
    page = "====\nShop\n====\n\nText.\n\nInstall\n-------\n\nIt.\n\nMore\n----\n"
    assert symbols("index.rst", page) == ["Shop", "Shop > Install", "Shop > More"]


def test_keys_of_long_paths_fit_and_stay_apart():
    deep = "/".join(["folder"] * 60)
    first, second = piece_key(f"{deep}/a.py", "load"), piece_key(f"{deep}/b.py", "load")
    assert first != second
    assert len(first) <= 255
    assert first.startswith(piece_keys(f"{deep}/a.py"))
    assert len(piece_key("a.py", "x" * 400)) == 255
    assert len(file_key(f"{deep}/a.py")) <= 255


def test_an_outline_tells_what_the_file_says_of_itself_and_defines():
    read = source("src/shop.py", '# Copyright 2026 A\n# Licensed so.\n\n"""Sells things."""\n\ndef load(): pass\n')
    assert outline(read, pieces_of(read)) == "src/shop.py (python)\nDefines load"
    read = source("src/shop.py", '"""Sells things.\n\nAll of them.\n"""\n\ndef load(): pass\n')
    assert outline(read, pieces_of(read)).splitlines()[1] == "Sells things. All of them."
    many = source("a.py", "\n".join(f"def f{number}(): pass" for number in range(pieces.MOST_NAMES + 5)))
    assert outline(many, pieces_of(many)).endswith("and 5 more")
