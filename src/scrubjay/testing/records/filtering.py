"""`Filter`: every store gives the answer that `Filter.matches` defines."""

from datetime import timedelta
from typing import Final

import pytest

from scrubjay.model import AsOf, Filter, Json, Memory, Reach, Scope
from scrubjay.model.query import MOST_CONDITIONS, MOST_VALUES, UNASKED_KINDS
from scrubjay.ports import Records
from scrubjay.testing.values import DAY, HOUR, NOW, a_memory, a_scope, replace_by_key, told

MICROSECOND: Final = timedelta(microseconds=1)

PLACES: Final = {
    "everybody": Scope(),
    "anna": Scope(user="anna"),
    "anna in p": Scope(user="anna", project="p"),
    "project p": Scope(project="p"),
    "bob": Scope(user="bob"),
    "anna in p, session s": Scope(user="anna", project="p", session="s"),
    "agent": Scope(agent="coder"),
    "workflow": Scope(workflow="release"),
    "acme": Scope(tenant="acme", user="anna"),
}

DATA: Final[dict[str, dict[str, Json]]] = {
    "empty": {},
    "one": {"n": 1},
    "one and a half": {"n": 1.5},
    "ten": {"n": 10},
    "true": {"n": True},
    "false": {"n": False},
    "null": {"n": None},
    "text": {"n": "1"},
    "list": {"n": [1, "x"]},
    "object": {"n": {"m": {"deep": "x"}, "n": 1}},
    "big": {"n": 2**53},
    "upper": {"n": "Beta"},
    "lower": {"n": "alpha"},
    "accent": {"n": "éclair"},
    "emoji": {"n": "🦉"},
    "odd names": {"a b": 1, "it's": "yes", "$": 2, "naïve": "oui", "x[0]": 3, "%": "percent", "a": {"b c": {"_": 4}}},
}

CONDITIONS: Final[list[dict[str, Json]]] = [
    {"n": 1},
    {"n": 1.0},
    {"n": True},
    {"n": False},
    {"n": None},
    {"n": "1"},
    {"n": 0},
    {"n": 2**53},
    {"n": 2**53 - 1},
    {"n": "x"},
    {"n": "alpha"},
    {"n": "Alpha"},
    {"n": "🦉"},
    {"n": "éclair"},
    {"n": "e\u0301clair"},
    {"n": [1, "alpha"]},
    {"n": [True]},
    {"n": []},
    {"n": {"in": [10, "Beta", True]}},
    {"n": {"in": []}},
    {"n": {"gt": 1}},
    {"n": {"gte": 1}},
    {"n": {"lt": 10}},
    {"n": {"lte": 10}},
    {"n": {"gt": 1, "lt": 10}},
    {"n": {"gt": 10, "lt": 1}},
    {"n": {"gte": 1.5}},
    {"n": {"gte": "a"}},
    {"n": {"lt": "a"}},
    {"n": {"gt": "Beta", "lte": "éclair"}},
    {"n": {"gt": "z"}},
    {"n": {"gt": True}},
    {"n": {"ne": 1}},
    {"n": {"ne": True}},
    {"n": {"ne": "alpha"}},
    {"n": {"exists": True}},
    {"n": {"exists": False}},
    {"n": {"exists": True, "ne": 1}},
    {"n.m.deep": "x"},
    {"n.m": {"exists": True}},
    {"n.m": None},
    {"n.n": 1},
    {"n.0": 1},
    {"n.m.deep.er": {"exists": False}},
    {"missing": {"exists": False}},
    {"missing": {"ne": 1}},
    {"a b": 1},
    {"it's": "yes"},
    {"$": 2},
    {"naïve": "oui"},
    {"x[0]": 3},
    {"%": "percent"},
    {"a.b c._": 4},
    {"n": {"gte": 1}, "missing": None},
    {"n": 1, "a b": 1},
]


ODD: Final[dict[str, dict[str, Json]]] = {
    "one": {"n": 1},
    "one as a fraction": {"n": 1.0},
    "true": {"n": True},
    "zero below zero": {"n": -0.0},
    "a long fraction": {"n": 0.1 + 0.2},
    "the largest of 64 bits": {"n": 2**63 - 1},
    "more than 64 bits": {"n": 2**63},
    "huge": {"n": 10**40},
    "as small": {"n": -(10**40)},
    "tiny": {"n": 5e-324},
    "nothing in it": {"n": {"m": None}},
    "an empty object": {"n": {}},
    "a list of lists": {"n": [[1], [], {"m": 1}]},
    "an empty name": {"": 1, "n": {"": {"m": 1}}},
    "a name with a dot": {"n.m": 1},
    "names of other alphabets": {"имя": {"名": "x"}, "n": {"m": "имя"}},
    "a text like a number": {"n": "10"},
    "a text like JSON": {"n": '{"m": 1}'},
    "quotes": {"n": 'it\'s "so" \\', 'a"b': 1},
    "lines": {"n": "one\ntwo\ttabs"},
    "the last letter": {"n": "\U0010ffff"},
    "no letter": {"n": ""},
}

ODDLY: Final[list[dict[str, Json]]] = [
    {"n": 1},
    {"n": 1.0},
    {"n": 0},
    {"n": 0.0},
    {"n": True},
    {"n": 0.1 + 0.2},
    {"n": 0.3},
    {"n": 2**63 - 1},
    {"n": {"gt": 2**62}},
    {"n": {"gt": 1e30}},
    {"n": {"lt": -(2**63)}},
    {"n": {"gt": 0, "lt": 1e-300}},
    {"n": {"gte": "", "lt": "a"}},
    {"n": {"gt": "z"}},
    {"n": ""},
    {"n": "\U0010ffff"},
    {"n": '{"m": 1}'},
    {"n": 'it\'s "so" \\'},
    {"n": "one\ntwo\ttabs"},
    {"n": {"ne": "10"}},
    {"n": {"ne": 10}},
    {"n": {"in": [1, True, "", "10"]}},
    {"n": {"in": [1, 1.0, 1]}},
    {"n": {"gte": 1, "ne": 1}},
    {"n": {"exists": True, "ne": True}},
    {"n.m": 1},
    {"n.m": None},
    {"n.m": {"exists": True}},
    {"n.m": {"ne": "имя"}},
    {"имя.名": "x"},
    {"имя.名": {"gte": "a"}},
    {"имя": {"exists": True}},
    {"n": {"exists": True}, "n.m": {"exists": False}},
]


async def answers(store: Records, filter: Filter, candidates: list[Memory]) -> list[str]:
    """What the filter finds, checked against its definition and over every way of asking."""
    found = await store.find(filter, now=NOW, limit=1_000, order="oldest")
    assert found == [memory for memory in candidates if filter.matches(memory, NOW)]
    ids = [memory.id for memory in found]
    assert await store.among(filter, now=NOW, limit=1_000) == ids[::-1]
    assert (await store.count(filter, now=NOW)).current == len(ids)
    assert [memory.id async for batch in store.scan(filter, now=NOW) for memory in batch] == ids
    return [memory.content for memory in found]


class FilteringSuite:
    """A filter means the same in every store."""

    @pytest.mark.parametrize("place", PLACES)
    @pytest.mark.parametrize("reach", ["sees", "holds"])
    async def test_scope_and_reach(self, store: Records, place: str, reach: Reach) -> None:
        stored = await told(store, *(a_memory(name, scope=scope) for name, scope in PLACES.items()))
        found = await answers(store, Filter(scope=PLACES[place], reach=reach), stored)
        assert place in found

    async def test_a_reader_sees_what_is_open_and_holds_only_what_is_inside(self, store: Records) -> None:
        stored = await told(store, *(a_memory(name, scope=scope) for name, scope in PLACES.items()))
        anna = PLACES["anna"]
        assert set(await answers(store, Filter(scope=anna), stored)) == set(PLACES) - {"bob", "acme"}
        inside = await answers(store, Filter(scope=anna, reach="holds"), stored)
        assert inside == ["anna", "anna in p", "anna in p, session s"]

    @pytest.mark.parametrize("bound", ["project", "agent", "project agent"])
    async def test_a_bound_reader_sees_of_users_what_names_the_same(self, store: Records, bound: str) -> None:
        places = [
            Scope(user=user, project=project, agent=agent)
            for user in (None, "anna")
            for project in (None, "p", "q")
            for agent in (None, "coder")
        ]
        stored = await told(store, *(a_memory(str(place), scope=place) for place in places))
        for where in ({}, {"project": "p"}, {"project": "p", "agent": "coder"}, {"user": "anna", "project": "p"}):
            reader = Scope(bound=bound, **where)
            inside = [
                place for place in places if all(where.get(name) == getattr(place, name) for name in bound.split())
            ]
            named = all(name in where for name in bound.split())
            seen = [one for one in places if Scope(**where).sees(one) and (not one.user or (named and one in inside))]
            for history in (False, True):  # A plain question is asked in other words than any other.
                found = await answers(store, Filter(scope=reader, history=history), stored)
                assert found == [str(place) for place in seen]
            ids = [memory.id for memory in stored]
            assert [memory.scope for memory in await store.get(reader, ids)] == seen
            assert Scope(**where) == reader, "who reads is no part of a place"

    async def test_kinds(self, store: Records) -> None:
        stored = await told(store, *(a_memory(kind, kind=kind) for kind in ("note", "rule", "message", "notes")))
        assert await answers(store, Filter(scope=a_scope(), kinds=("rule",)), stored) == ["rule"]
        assert await answers(store, Filter(scope=a_scope(), kinds=("note", "message")), stored) == ["note", "message"]
        assert await answers(store, Filter(scope=a_scope(), kinds=("plan",)), stored) == []

    async def test_quiet_kinds_answer_when_they_are_named_or_held(self, store: Records) -> None:
        stored = await told(store, *(a_memory(kind, kind=kind) for kind in ("note", *sorted(UNASKED_KINDS))))
        assert await answers(store, Filter(scope=a_scope()), stored) == ["note"]
        assert await answers(store, Filter(scope=a_scope(), kinds=("checkpoint",)), stored) == ["checkpoint"]
        held = await answers(store, Filter(scope=a_scope(), reach="holds"), stored)
        assert set(held) == {"note", *UNASKED_KINDS}

    @pytest.mark.parametrize(
        "prefix", ["pref:", "Pref:", "pref:a", "100%", "100", "_", "a_b", "a", "'", "\\", "é", "🦉", "*"]
    )
    async def test_key_prefix_is_taken_literally(self, store: Records, prefix: str) -> None:
        keys = [
            "pref:a",
            "pref:b",
            "Pref:c",
            "100% x",
            "1000",
            "_x",
            "ax",
            "a_b",
            "axb",
            "'x",
            "\\x",
            "x\\",
            "\u00e9t\u00e9",
        ]
        keys += ["e\u0301te", "🦉owl", "*", "?", "\\%"]
        stored = await told(store, *(a_memory(key, key=key) for key in keys), a_memory("no key"))
        wanted = [key for key in keys if key.startswith(prefix)]
        assert wanted
        assert await answers(store, Filter(scope=a_scope(), key_prefix=prefix), stored) == wanted

    async def test_key_is_exact(self, store: Records) -> None:
        keys = ["k", "K", "k ", "kk", "%", "_", "\u00e9", "e\u0301", "k'; DROP TABLE memories; --"]
        stored = await told(store, *(a_memory(key, key=key) for key in keys), a_memory("no key"))
        for key in keys:
            assert await answers(store, Filter(scope=a_scope(), key=key), stored) == [key]

    @pytest.mark.parametrize("condition", CONDITIONS, ids=str)
    async def test_data(self, store: Records, condition: dict[str, Json]) -> None:
        stored = await told(store, *(a_memory(name, data=data) for name, data in DATA.items()))
        await answers(store, Filter(scope=a_scope(), data=condition), stored)

    async def test_as_many_values_as_there_may_be(self, store: Records) -> None:
        stored = await told(store, *(a_memory(name, data=data) for name, data in DATA.items()))
        longest: list[Json] = ["alpha", *(f"v{number}" for number in range(MOST_VALUES - 1))]
        assert await answers(store, Filter(scope=a_scope(), data={"n": longest}), stored) == ["lower"]

    async def test_as_many_conditions_as_there_may_be(self, store: Records) -> None:
        said: dict[str, Json] = {f"p{number}": number for number in range(MOST_CONDITIONS)}
        stored = await told(
            store, a_memory("all", data=said), a_memory("but one", data={**said, f"p{MOST_CONDITIONS - 1}": 0})
        )
        assert await answers(store, Filter(scope=a_scope(), data=said), stored) == ["all"]

    async def test_data_tells_truth_from_numbers_and_text_from_both(self, store: Records) -> None:
        stored = await told(store, *(a_memory(name, data=data) for name, data in DATA.items()))

        async def found(**condition: Json) -> list[str]:
            return await answers(store, Filter(scope=a_scope(), data=condition), stored)

        assert await found(n=1) == ["one"]
        assert await found(n=True) == ["true"]
        assert await found(n="1") == ["text"]
        assert await found(n={"gt": 0}) == ["one", "one and a half", "ten", "big"]
        assert await found(n={"gte": "B", "lt": "b"}) == ["upper", "lower"]
        assert await found(n={"exists": False}) == ["empty", "null", "odd names"]

    async def test_since_and_until_are_closed_at_the_start_and_open_at_the_end(self, store: Records) -> None:
        moments = [NOW - HOUR - MICROSECOND, NOW - HOUR, NOW - MICROSECOND, NOW]
        stored = await told(store, *(a_memory(str(place), valid_from=when) for place, when in enumerate(moments)))
        window = Filter(scope=a_scope(), since=NOW - HOUR, until=NOW)
        assert await answers(store, window, stored) == ["1", "2"]
        assert await answers(store, Filter(scope=a_scope(), since=NOW), stored) == ["3"]
        assert await answers(store, Filter(scope=a_scope(), until=NOW - HOUR), stored) == ["0"]

    async def test_least_importance_is_included(self, store: Records) -> None:
        stored = await told(
            store, *(a_memory(str(value), importance=value) for value in (0.0, 0.3, 0.7, 0.1 + 0.2, 1.0))
        )
        found = await answers(store, Filter(scope=a_scope(), least_importance=0.7), stored)
        assert found == ["0.7", "1.0"]
        found = await answers(store, Filter(scope=a_scope(), least_importance=0.1 + 0.2), stored)
        assert found == ["0.7", "0.30000000000000004", "1.0"]

    async def test_only_what_holds_now_answers_by_default(self, store: Records) -> None:
        stored = await told(
            store,
            a_memory("current"),
            a_memory("past", valid_from=NOW - DAY, valid_to=NOW),
            a_memory("ends in a moment", valid_from=NOW - DAY, valid_to=NOW + MICROSECOND),
            a_memory("future", valid_from=NOW + MICROSECOND),
            a_memory("expired", expires_at=NOW),
            a_memory("expires in a moment", expires_at=NOW + MICROSECOND),
            a_memory("told by a clock ahead", created_at=NOW + HOUR, valid_from=NOW + HOUR),
            a_memory("told by it of later", created_at=NOW + HOUR, valid_from=NOW + HOUR + MICROSECOND),
            a_memory("forgotten"),
            a_memory("forgotten by a clock ahead"),
        )
        for place, at in ((8, NOW), (9, NOW + HOUR)):
            stored[place : place + 1] = await store.close(a_scope(), [stored[place].id], at=at, because="forgotten")
        here = Filter(scope=a_scope())
        expected = ["current", "ends in a moment", "expires in a moment", "told by a clock ahead"]
        assert await answers(store, here, stored) == expected
        everything = Filter(scope=a_scope(), history=True)
        assert await answers(store, everything, stored) == [memory.content for memory in stored]

    async def test_as_of_answers_what_was_known_then(self, store: Records) -> None:
        drafts = [
            a_memory(content, key="indent", created_at=NOW - (3 - day) * DAY)
            for day, content in enumerate(("1", "2", "3"))
        ]
        await store.write(drafts, replace_by_key)
        stored = await store.get(a_scope(), [draft.id for draft in drafts])
        for ago, wanted in ((4, []), (3, ["1"]), (2.5, ["1"]), (2, ["2"]), (1, ["3"]), (0, ["3"])):
            then = Filter(scope=a_scope(), as_of=AsOf(known_at=NOW - ago * DAY))
            assert await answers(store, then, stored) == wanted, ago

    async def test_as_of_answers_what_held_then(self, store: Records) -> None:
        stored = await told(
            store,
            a_memory("lived in Rome", key="home", valid_from=NOW - 9 * DAY, valid_to=NOW - 2 * DAY),
            a_memory("lives in Oslo", key="home", valid_from=NOW - 2 * DAY),
            a_memory("will move to Bern", key="next", valid_from=NOW + DAY),
        )
        for days, wanted in ((-10, []), (-9, [0]), (-3, [0]), (-2, [1]), (0, [1]), (1, [1, 2])):
            then = Filter(scope=a_scope(), as_of=AsOf(valid_at=NOW + days * DAY))
            assert await answers(store, then, stored) == [stored[place].content for place in wanted], days

    async def test_as_of_both_times_at_once(self, store: Records) -> None:
        old = a_memory("lives in Rome", key="home", created_at=NOW - 9 * DAY)
        told_late = a_memory("lives in Oslo", key="home", created_at=NOW - DAY, valid_from=NOW - 5 * DAY)
        await store.write([old, told_late], replace_by_key)
        stored = await store.get(a_scope(), [old.id, told_late.id])
        then = AsOf(known_at=NOW - 2 * DAY, valid_at=NOW - 3 * DAY)
        assert await answers(store, Filter(scope=a_scope(), as_of=then), stored) == ["lives in Rome"]
        now = AsOf(valid_at=NOW - 3 * DAY)
        assert await answers(store, Filter(scope=a_scope(), as_of=now), stored) == ["lives in Oslo"]

    async def test_all_conditions_hold_together(self, store: Records) -> None:
        stored = await told(
            store,
            a_memory("yes", kind="rule", key="r:1", data={"n": 2}, importance=0.9),
            a_memory("other kind", kind="note", key="r:2", data={"n": 2}, importance=0.9),
            a_memory("other key", kind="rule", key="s:1", data={"n": 2}, importance=0.9),
            a_memory("other data", kind="rule", key="r:3", data={"n": 0}, importance=0.9),
            a_memory("unimportant", kind="rule", key="r:4", data={"n": 2}, importance=0.1),
            a_memory("too old", kind="rule", key="r:5", data={"n": 2}, importance=0.9, valid_from=NOW - DAY),
        )
        all_of_it = Filter(
            scope=a_scope(),
            kinds=("rule",),
            key_prefix="r:",
            data={"n": {"gte": 1}},
            since=NOW - HOUR,
            least_importance=0.5,
        )
        assert await answers(store, all_of_it, stored) == ["yes"]

    async def test_a_filter_applies_before_the_limit(self, store: Records) -> None:
        [rule] = await told(store, a_memory("A rule", kind="rule", data={"n": 1}, scope=a_scope("bob")))
        await told(store, *(a_memory(f"Note {place}") for place in range(200)))
        narrow = Filter(scope=a_scope("bob"), kinds=("rule",), data={"n": 1})
        assert await store.find(narrow, now=NOW, limit=1) == [rule]
