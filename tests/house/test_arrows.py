"""Arrows point inward."""

from pathlib import Path

import pytest
from arrows import MAY_IMPORT, arrows_of


def test_every_room_is_known(root):
    house = root / "src" / "scrubjay"
    rooms = {path.stem for path in house.glob("*.py")} | {path.parent.name for path in house.glob("*/__init__.py")}
    unknown = rooms - {"__init__", "__main__"} - set(MAY_IMPORT)
    assert not unknown, f"say in tests/house/arrows.py what {', '.join(sorted(unknown))} may import"


def test_arrows_point_inward(root, sources):
    house = root / "src" / "scrubjay"
    wrong = [
        str(arrow)
        for path in sources
        if path.parent != house or path.stem not in {"__init__", "__main__"}
        for arrow in arrows_of(path.read_text(), path.relative_to(house))
        if not arrow.is_allowed
    ]
    assert not wrong, "\n" + "\n".join(wrong)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("model/memory.py", "from scrubjay.ports import Records"),
        ("errors.py", "import scrubjay.model"),
        ("write/prepare.py", "from scrubjay import settings"),
        ("write/prepare.py", "from scrubjay.read import fuse"),
        ("read/fuse.py", "from ..service import Scrubjay"),
        ("read/fuse.py", "import scrubjay"),
        ("service.py", "def late():\n    from scrubjay.backends.memory import MemoryRecords"),
        ("service.py", "if TYPE_CHECKING:\n    from scrubjay.wiring import build"),
        ("doors/cli/app.py", "from scrubjay.backends.sql import SqlRecords"),
        ("backends/memory.py", "import_module('scrubjay.write')"),
        ("models/minilm.py", "importlib.import_module('scrubjay.settings')"),
    ],
)
def test_a_wrong_arrow_is_seen(path, text):
    assert [arrow for arrow in arrows_of(text, Path(path)) if not arrow.is_allowed]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("backends/sql/records.py", "from . import schema\nfrom .schema import memories"),
        ("backends/sql/records.py", "from scrubjay.ports import Records\nimport numpy"),
        ("read/fuse.py", "from scrubjay import __version__"),
        ("doors/cli/app.py", "import scrubjay\nfrom scrubjay import wiring"),
        ("wiring.py", "from scrubjay.backends.sql import SqlRecords"),
    ],
)
def test_a_right_arrow_passes(path, text):
    assert all(arrow.is_allowed for arrow in arrows_of(text, Path(path)))
