"""The names that files define, and the languages they are written in."""

import pytest

from scrubjay.memories.workspace.languages import language_of
from scrubjay.memories.workspace.symbols import symbols_of


@pytest.mark.parametrize(
    ("language", "text", "names"),
    [
        ("python", "class A1(B):\n    async def run_it(self): ...\n    def __init__(self): ...\n", ["A1", "run_it"]),
        ("javascript", "export default function go() {}\nconst add = (a, b) => a + b\nlet n = 1\n", ["go", "add"]),
        ("typescript", "export interface Shape {}\nexport const area = async (s: Shape) => 1\n", ["Shape", "area"]),
        ("go", "func (s *Store) Put(key string) error {\n}\ntype Store struct {\n", ["Put", "Store"]),
        ("rust", "pub(crate) async fn load() {}\nimpl Store {\n    pub fn get(&self) {}\n}\n", ["load", "get"]),
        ("java", "public final class Cart {\n  interface Line {}\n}\n", ["Cart", "Line"]),
        ("ruby", "module Shop\n  def self.total\n  end\nend\n", ["Shop", "total"]),
        (
            "sql",
            "CREATE TABLE IF NOT EXISTS orders (id int);\ncreate or replace view totals as\n",
            ["orders", "totals"],
        ),
        ("bash", "build_all() {\n  true\n}\n", ["build_all"]),
        ("markdown", "class of its own\ndef initely\n", []),
        (None, "def x(): ...\n", []),
    ],
)
def test_definitions_are_seen(language, text, names):
    assert symbols_of(text, language) == names


def test_a_name_counts_once():
    assert symbols_of("def aa(): ...\ndef aa(): ...\ndef b(): ...\n", "python") == ["aa"]


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("src/app.py", "python"),
        ("web/App.TSX", "typescript"),
        ("Makefile", "make"),
        ("deploy/Dockerfile", "dockerfile"),
        ("CMakeLists.txt", "cmake"),
        ("notes", None),
        ("a.unknown", None),
        (".gitignore", None),
    ],
)
def test_a_name_tells_the_language(path, language):
    assert language_of(path) == language
