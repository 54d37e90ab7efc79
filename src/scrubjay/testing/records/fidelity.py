"""What goes in comes out: every field, odd texts, exact times and data; and `load`, which keeps rows as they are."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

import pytest

from scrubjay.errors import Conflict
from scrubjay.model import Filter, Json, Memory, Scope, Trust, new_id
from scrubjay.ports import Records
from scrubjay.testing.values import DAY, HOUR, NOW, SECOND, a_memory, a_scope, all_rows, some_memories, told

ODD_TEXTS: Final = {
    "emoji": "Ship it 🚀👩‍👩‍👧‍👦 🏳️‍🌈",
    "right to left": "שלום עולם – مرحبا بالعالم \u202eabc\u202c",
    "composed": "caf\u00e9",
    "combining": "cafe\u0301 Z\u0351\u036b\u0343a\u0323\u0302lgo",
    "cjk": "東京タワーは高い。서울의 밤",
    "quotes": """He said "it's `fine`" – 'really' \\ \\\\ \\' \\" $$ $1 :name %s %(name)s {name} ? ?1 @x""",
    "sql": "'; DROP TABLE memories; -- /* */ \" OR 1=1",
    "full-text operators": 'AND OR NOT NEAR(a b, 2) "unclosed * ^ col: (x | y) & !z <-> -minus +plus',
    "white space": "  leading\ttab\r\nwindows\u00a0no-break\u2028separator\u200bzero width  ",
    "controls": "bell\x07 escape\x1b[31m delete\x7f \ufeff \ufffd \uffff",
    "rare planes": "𐍈 𝒳 \U0010fffd",
    "json": '{"a": [1, 2, {"b": null}]}',
    "one letter": "x",
}

LONG_TEXTS: Final = {
    "one word of a million letters": "x" * 1_000_000,
    "a million letters of different words": " ".join(f"w{place:06x}" for place in range(125_000)),
    "a megabyte of wide letters": "語" * 333_333,
}

DATA: Final[dict[str, Json]] = {
    "text": 'ünï "quoted" \\ 🦉 \n',
    "whole": 2**53,
    "negative": -(2**53),
    "fractions": [0.1, 1 / 3, 1e-9, -2.5, 1e22, 3.141592653589793],
    "whole fraction": 3.0,
    "truth": [True, False, None],
    "nested": {"a": {"b": [{"c": []}, {}, [[1], [2, [3]]]]}, "": "empty name", "naïve 🦉": "odd name"},
    "1": "a number as a name",
    "long": "x" * 10_000,
}


def with_everything(**overrides: object) -> Memory:
    """A memory that uses every field, each with a value of its own."""
    full = a_memory(
        "Every field is used",
        kind="fact",
        key="fact:all",
        data=DATA,
        importance=0.123456789,
        trust=Trust.FOREIGN,
        source="https://example.org/?a=b#c",
        author="agent:reviewer",
        reason="Because\nit was said",
        derived_from=(new_id(), new_id()),
        redacted=("aws_key", "password"),
        scope=Scope(tenant="acme", user="u", project="p", agent="a", session="s", workflow="w"),
        position=7,
        created_at=NOW,
        valid_from=NOW - DAY,
        valid_to=NOW + DAY,
        expires_at=NOW + HOUR,
        superseded_at=NOW + SECOND,
        superseded_by=new_id(),
        closed_because="it changed",
        uses=3,
        used_at=NOW + 2 * SECOND,
        generation=5,
    )
    return replace(full, **overrides)  # type: ignore[arg-type]  # the value checks itself


class FidelitySuite:
    """A record store gives back exactly what it was given."""

    async def test_every_field_round_trips(self, store: Records) -> None:
        memory = with_everything()
        await store.load([memory])
        [stored] = await store.get(memory.scope, [memory.id])
        assert stored == memory
        assert stored.fingerprint == memory.fingerprint
        assert type(stored.trust) is Trust

    async def test_every_field_round_trips_through_a_write(self, store: Records) -> None:
        [source] = await told(store, a_memory(scope=Scope(tenant="acme")))
        memory = with_everything(superseded_at=None, superseded_by=None, closed_because=None, derived_from=(source.id,))
        assert await told(store, memory) == [memory]
        assert await store.get(memory.scope, [memory.id]) == [memory]

    @pytest.mark.parametrize("text", ODD_TEXTS)
    async def test_odd_texts_round_trip(self, store: Records, text: str) -> None:
        odd = ODD_TEXTS[text]
        memory = a_memory(odd, data={"said": odd, odd.replace('"', ""): "name"}, reason=odd)
        await told(store, memory)
        assert await store.get(memory.scope, [memory.id]) == [memory]
        assert await store.find(Filter(scope=a_scope(), data={"said": odd}), now=NOW, limit=9) == [memory]

    @pytest.mark.parametrize("text", LONG_TEXTS)
    async def test_long_texts_round_trip(self, store: Records, text: str) -> None:
        memory = a_memory(LONG_TEXTS[text])
        await told(store, memory)
        assert await store.get(memory.scope, [memory.id]) == [memory]

    @pytest.mark.parametrize(
        "name", ["O'Brien", "a%b", "a_b", 'say "hi"', "naïve 🦉", "שלום", "a,b;c", "\\", "null", "a" * 255]
    )
    async def test_odd_names_round_trip(self, store: Records, name: str) -> None:
        scope = Scope(tenant=name, user=name, project=name, agent=name, session=name, workflow=name)
        memory = a_memory(scope=scope, key=name, source=name, author=name, position=0)
        await told(store, memory)
        assert await store.get(scope, [memory.id]) == [memory]
        assert await store.versions(scope, key=name) == [memory]
        assert await store.find(Filter(scope=scope, reach="holds", key=name), now=NOW, limit=9) == [memory]

    @pytest.mark.parametrize(
        "moment",
        [
            datetime(2026, 1, 15, 12, 0, 0, 1, tzinfo=UTC),
            datetime(2026, 1, 15, 12, 0, 0, 999_999, tzinfo=UTC),
            datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
            datetime(1000, 1, 1, tzinfo=UTC),
            datetime(9999, 12, 30, 23, 59, 59, 999_999, tzinfo=UTC),
        ],
        ids=str,
    )
    async def test_times_round_trip_to_the_microsecond(self, store: Records, moment: datetime) -> None:
        memory = a_memory(created_at=moment, valid_from=moment, expires_at=moment, used_at=moment)
        await store.load([memory])
        [stored] = await store.get(memory.scope, [memory.id])
        assert stored == memory
        assert stored.created_at.utcoffset() == moment.utcoffset()

    async def test_data_round_trips_with_its_types(self, store: Records) -> None:
        memory = a_memory(data=DATA)
        await told(store, memory)
        [stored] = await store.get(memory.scope, [memory.id])
        assert repr(_sorted(stored.data)) == repr(_sorted(DATA))
        assert stored.fingerprint == memory.fingerprint

    async def test_what_is_stored_does_not_change_with_the_callers_data(self, store: Records) -> None:
        data: dict[str, Json] = {"list": [1]}
        memory = a_memory(data=data)
        await told(store, memory)
        data["list"] = "changed"
        [stored] = await store.get(memory.scope, [memory.id])
        assert stored.data == {"list": [1]}

    async def test_load_stores_exactly_these_rows_in_order(self, store: Records) -> None:
        talk = a_scope(session="s")
        rows = [
            a_memory("Closed", key="k").closed(NOW, because="replaced", by=new_id()),
            a_memory("Current", key="k", uses=4, used_at=NOW, generation=2),
            a_memory("Said", scope=talk, kind="message", position=17),
            a_memory("Said without a place", scope=talk, kind="message"),
            a_memory("Ended", key="k", valid_from=NOW - DAY, valid_to=NOW),
        ]
        assert await store.load(rows) == 5
        assert await all_rows(store, a_scope()) == rows
        assert [memory.id for memory in await store.pending(2, limit=9)] == [
            row.id for row in rows if row is not rows[1]
        ]

    async def test_load_leaves_alone_what_is_stored(self, store: Records) -> None:
        stored = await told(store, *some_memories(3))
        more = some_memories(5)[3:]
        changed = [replace(memory, content="Changed") for memory in stored]
        assert await store.load([*changed, *more]) == 2
        assert await store.load([*changed, *more]) == 0
        assert await store.load([]) == 0
        assert await all_rows(store, a_scope()) == [*stored, *more]

    async def test_load_takes_the_first_of_two_rows_with_one_id(self, store: Records) -> None:
        row = a_memory()
        assert await store.load([row, replace(row, content="Second")]) == 1
        assert await all_rows(store, a_scope()) == [row]

    async def test_load_refuses_what_contradicts_the_stored_and_stores_nothing(self, store: Records) -> None:
        [stored] = await told(store, a_memory("Tabs", key="k"))
        with pytest.raises(Conflict):
            await store.load([a_memory("Fine"), a_memory("Spaces", key="k")])
        assert await all_rows(store, a_scope()) == [stored]

    async def test_a_session_goes_on_after_what_was_loaded(self, store: Records) -> None:
        talk = a_scope(session="s")
        await store.load([a_memory(f"Said {place}", scope=talk, kind="message", position=place) for place in range(5)])
        [said] = await told(store, a_memory("Next", scope=talk, kind="message"))
        assert said.position == 5


def _sorted(value: Json) -> Json:
    if isinstance(value, dict):
        return {name: _sorted(value[name]) for name in sorted(value)}
    return [_sorted(one) for one in value] if isinstance(value, list) else value
