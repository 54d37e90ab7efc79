"""Large answers are written piece by piece, and are what pydantic writes in one go."""

from datetime import UTC, datetime

import pytest
from pydantic import TypeAdapter

from scrubjay import model
from scrubjay.doors.http.routes.parameters import page, page_of
from scrubjay.doors.http.values import answer, plain, written
from scrubjay.model import Memory, Scope, new_id

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DATA = {"a": [1, 1.5, None, True, {"b": '\u2028"\\'}], "c": {}}
MEMORIES = [
    Memory(id=new_id(), content=f"{n} 漢 \U0001f600", scope=Scope(user="u"), created_at=NOW, valid_from=NOW, data=DATA)
    for n in range(45)
]
HITS = tuple(model.Hit(memory=one, score=0.5, similarity=None, why="words", passage=None) for one in MEMORIES)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (page_of("memories", Memory), page("memories", MEMORIES, 45)),
        (page_of("memories", Memory), page("memories", [], 45)),
        (list[answer(Memory)], MEMORIES),
        (list[answer(Memory)], MEMORIES[:1]),
        (answer(model.Hits), model.Hits(hits=HITS, degraded=("vectors",), milliseconds=1.0)),
        (answer(Memory), MEMORIES[0]),
        (str, "漢"),
    ],
)
def test_pieces_are_the_whole(kind, value):
    adapter = TypeAdapter(kind)
    whole = adapter.validate_python(plain(value), from_attributes=True)
    assert written(adapter, value) == adapter.dump_json(whole, exclude_unset=True, by_alias=True)
