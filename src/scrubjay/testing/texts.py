"""What every search by words has to do. It is derived from records, so the store under test is both."""

from dataclasses import replace
from datetime import datetime
from itertools import permutations
from math import log
from typing import Protocol

import pytest

from scrubjay.errors import IdTaken
from scrubjay.model import AsOf, Filter, Memory, Scope, new_id
from scrubjay.model.words import terms_of
from scrubjay.ports import Records, Texts
from scrubjay.testing.values import DAY, HOUR, NOW, a_memory, a_scope, keep_all, replace_by_key, told


class TextStore(Records, Texts, Protocol):
    """A record store that finds its memories by their words."""


async def found(
    store: TextStore, question: str, filter: Filter | None = None, *, now: datetime = NOW, limit: int = 50
) -> list[str]:
    """The contents that a question finds, best first."""
    asked = filter or Filter(scope=a_scope())
    matches = await store.match(terms_of(question), asked, now=now, limit=limit)
    scores = [match.score for match in matches]
    assert all(score > 0 for score in scores)
    assert scores == sorted(scores, reverse=True)
    assert len({match.id for match in matches}) == len(matches)
    memories = await store.get(asked.scope, [match.id for match in matches])
    assert len(memories) == len(matches)
    return [memory.content for memory in memories]


def fillers(many: int, scope: Scope | None = None) -> list[Memory]:
    """Memories that have common words, and each a number."""
    return [
        a_memory(f"The build of service {place} ran for a while", scope=scope or a_scope()) for place in range(many)
    ]


class TextsSuite:
    """Derive from it, name the class `Test…`, and give it a fixture `store` that yields an empty store."""

    async def test_a_rare_word_finds_its_memory(self, store: TextStore) -> None:
        await told(store, *fillers(50), a_memory("Deploys go through Kubernetes"))
        assert await found(store, "what about kubernetes?") == ["Deploys go through Kubernetes"]

    async def test_what_has_none_of_the_terms_is_not_found(self, store: TextStore) -> None:
        await told(store, *fillers(5))
        assert await found(store, "zebra") == []

    async def test_no_terms_find_nothing(self, store: TextStore) -> None:
        await told(store, *fillers(5))
        assert await store.match([], Filter(scope=a_scope()), now=NOW, limit=9) == []

    async def test_an_empty_store_finds_nothing(self, store: TextStore) -> None:
        assert await found(store, "anything at all") == []

    async def test_any_of_the_terms_is_enough(self, store: TextStore) -> None:
        await told(store, a_memory("Red apples"), a_memory("Green pears"), a_memory("Blue plums"))
        assert set(await found(store, "apples pears")) == {"Red apples", "Green pears"}

    async def test_more_terms_count_more(self, store: TextStore) -> None:
        await told(
            store, *fillers(30), a_memory("Postgres stores"), a_memory("Postgres indexes"), a_memory("Old indexes")
        )
        assert (await found(store, "postgres indexes"))[0] == "Postgres indexes"

    async def test_what_scores_alike_comes_in_the_order_of_storing(self, store: TextStore) -> None:
        # Each has the same words as often, so that only rounding could tell them apart.
        patterns = list(permutations((1, 2, 3, 5, 7)))
        words = ("condor", "osprey", "merlin", "falcon", "pigeon")
        texts = [" ".join(word for word, many in zip(words, one, strict=True) for _ in range(many)) for one in patterns]
        await told(store, *fillers(150), *map(a_memory, texts))
        for limit in (150, 10):
            for question in ("condor osprey merlin falcon pigeon", "pigeon merlin condor osprey falcon"):
                assert await found(store, question, limit=limit) == texts[:limit]

    async def test_rare_terms_count_more(self, store: TextStore) -> None:
        rare = "The build of zebra 99 ran for a while"
        await told(store, *fillers(30), a_memory(rare), *fillers(60)[30:])
        assert (await found(store, "service zebra"))[0] == rare

    async def test_what_another_tenant_stores_moves_no_score(self, store: TextStore) -> None:
        await told(store, *fillers(30), a_memory("A zebra and an okapi"), a_memory("One okapi more"))
        here = Filter(scope=a_scope())
        alone = await store.match(["zebra", "okapi", "service"], here, now=NOW, limit=50)
        theirs = a_scope(tenant="somebody-else")
        await told(store, *(a_memory(f"Their long story of zebra {place}", scope=theirs) for place in range(90)))
        beside = await store.match(["zebra", "okapi", "service"], here, now=NOW, limit=50)
        assert [one.id for one in beside] == [one.id for one in alone]
        assert [one.score for one in beside] == pytest.approx([one.score for one in alone], abs=1e-6)

    async def test_a_word_counts_by_the_logarithm_of_how_many_lack_it(self, store: TextStore) -> None:
        await told(store, *fillers(39), a_memory("The build of zebra 99 ran for a while"))
        [few] = await store.match(["zebra"], Filter(scope=a_scope()), now=NOW, limit=9)
        assert log(40) / 2 < few.score < log(40) * 2
        await told(store, *fillers(120)[39:])
        [many] = await store.match(["zebra"], Filter(scope=a_scope()), now=NOW, limit=9)
        assert few.score < many.score < log(121) * 2

    @pytest.mark.parametrize("said", ["test", "tests", "testing", "tested"])
    @pytest.mark.parametrize("asked", ["test", "tests", "testing", "tested"])
    async def test_inflected_forms_match(self, store: TextStore, said: str, asked: str) -> None:
        await told(store, a_memory(f"Something {said} here"), a_memory("Nothing"))
        assert await found(store, asked) == [f"Something {said} here"]

    @pytest.mark.parametrize(
        ("said", "asked"),
        [
            ("formatting", "formatted"),
            ("formats", "formatting"),
            ("running", "runs"),
            ("caches", "caching"),
            ("class", "classes"),
            ("boxes", "box"),
            ("installing", "installed"),
            ("queries", "query"),
            ("used", "using"),
            ("passes", "passing"),
        ],
    )
    async def test_regular_endings_match(self, store: TextStore, said: str, asked: str) -> None:
        await told(store, a_memory(f"Something {said} here"))
        assert await found(store, asked) == [f"Something {said} here"]
        assert await found(store, said) == [f"Something {said} here"]

    async def test_case_does_not_matter(self, store: TextStore) -> None:
        await told(store, a_memory("The POSTGRES Server"))
        assert await found(store, "postgres SERVER") == ["The POSTGRES Server"]

    @pytest.mark.parametrize(
        ("said", "asked"),
        [
            ("Call getUserName first", "user name"),
            ("Call getUserName first", "getUserName"),
            ("Call getUserName first", "getusername"),
            ("Use snake_case here", "snake"),
            ("Use snake_case here", "snake_case"),
            ("Prefer os.path.join", "path"),
            ("Prefer os.path.join", "os.path.join"),
            ("Set kebab-case-name", "kebab"),
            ("Parse HTTPResponse", "http response"),
            ("See utf8 and sha256", "sha256"),
            ("Fails with ERR_CONN_REFUSED", "err conn refused"),
            ("Version 3.11.7 is needed", "3.11.7"),
            ("See src/scrubjay/model/words.py", "words.py"),
        ],
    )
    async def test_identifiers_are_found_whole_and_by_their_parts(
        self, store: TextStore, said: str, asked: str
    ) -> None:
        await told(store, a_memory(said), a_memory("Unrelated"))
        assert await found(store, asked) == [said]

    async def test_the_whole_identifier_is_the_better_answer(self, store: TextStore) -> None:
        await told(store, *fillers(20), a_memory("The user has a name"), a_memory("Call getUserName"))
        assert (await found(store, "getUserName"))[0] == "Call getUserName"

    @pytest.mark.parametrize(
        ("said", "asked"),
        [
            ("Meet at the caf\u00e9", "cafe"),
            ("Meet at the cafe\u0301", "caf\u00e9"),
            ("Ask M\u00fcller", "muller"),
            ("\u041f\u0440\u0438\u0432\u0435\u0442 \u043c\u0438\u0440", "\u043f\u0440\u0438\u0432\u0435\u0442"),
            ("東京タワーは高い", "東京"),
            ("서울의 밤은 길다", "서울"),
            ("שלום עולם", "שלום"),
            ("مرحبا بالعالم", "مرحبا"),
            ("Straße gesperrt", "strasse"),
        ],
    )
    async def test_other_languages_and_accents(self, store: TextStore, said: str, asked: str) -> None:
        await told(store, a_memory(said), a_memory("Unrelated"))
        assert await found(store, asked) == [said]

    async def test_who_said_it_is_found(self, store: TextStore) -> None:
        await told(
            store,
            a_memory("I went sailing", kind="message", author="Melanie"),
            a_memory("Boats are docked in spring", kind="fact", author="Melanie"),
        )
        assert await found(store, "where did melanie go?") == ["I went sailing"]

    async def test_the_words_of_the_key_are_found(self, store: TextStore) -> None:
        await told(store, a_memory("Tabs over spaces", key="pref:indentation"), a_memory("Other", key="pref:quotes"))
        assert await found(store, "indentation") == ["Tabs over spaces"]

    async def test_a_question_of_common_words_only_still_finds(self, store: TextStore) -> None:
        await told(store, a_memory("To be or not to be"), a_memory("Unrelated"))
        assert await found(store, "to be or not to be") == ["To be or not to be"]

    @pytest.mark.parametrize(
        "terms",
        [
            ["AND"],
            ["OR", "NOT"],
            ["NEAR"],
            ["near"],
            ['"'],
            ["*"],
            ["zebra*"],
            ["^zebra"],
            ["body:zebra"],
            ["(", ")"],
            ["'"],
            ["a & b | !c <-> d"],
            ["\\"],
            [":*"],
            ["-zebra"],
            ["%", "_"],
            [""],
            ["🦉"],
            ["x" * 5_000],
        ],
        ids=lambda terms: " ".join(terms)[:20],
    )
    async def test_terms_that_are_operators_are_only_words(self, store: TextStore, terms: list[str]) -> None:
        await told(store, a_memory("Plain words"))
        assert await store.match(terms, Filter(scope=a_scope()), now=NOW, limit=9) == []

    @pytest.mark.parametrize("word", ["and", "or", "not", "near", "null", "select"])
    async def test_words_that_are_operators_elsewhere_are_found(self, store: TextStore, word: str) -> None:
        await told(store, a_memory(f"Here is {word} as a word"), a_memory("Unrelated"))
        matches = await store.match([word], Filter(scope=a_scope()), now=NOW, limit=9)
        assert len(matches) == 1

    async def test_a_word_at_the_end_of_a_very_long_memory(self, store: TextStore) -> None:
        long = " ".join(f"word{place % 2_000}" for place in range(100_000)) + " zebra"
        await told(store, a_memory(long), a_memory("Short"))
        assert await found(store, "zebra") == [long]

    async def test_many_terms(self, store: TextStore) -> None:
        await told(store, *fillers(20))
        terms = [f"term{place}" for place in range(200)] + ["7"]
        matches = await store.match(terms, Filter(scope=a_scope()), now=NOW, limit=9)
        assert len(matches) == 1

    async def test_no_word_is_taken_for_another_when_no_guess_is_wanted(self, store: TextStore) -> None:
        await told(store, a_memory("Deploys go through Kubernetes"), a_memory("Unrelated"))
        for word, many in (("kubernetes", 1), ("kuberentes", 0)):
            assert len(await store.match([word], Filter(scope=a_scope()), now=NOW, limit=9, guess=False)) == many

    async def test_the_limit_keeps_the_best(self, store: TextStore) -> None:
        await told(store, *fillers(20), a_memory("Zebra build service"))
        assert await found(store, "zebra build service", limit=1) == ["Zebra build service"]
        assert len(await found(store, "service", limit=5)) == 5

    async def test_the_filter_applies_before_the_limit(self, store: TextStore) -> None:
        await store.load(fillers(3_000, a_scope("bob")))
        await told(store, a_memory("One long and winding memory that says build and much else besides in many words"))
        assert len(await found(store, "build service", limit=3)) == 1
        await told(store, a_memory("Never build on Friday", kind="rule", scope=a_scope("bob")))
        rules = Filter(scope=a_scope("bob"), kinds=("rule",))
        assert await found(store, "build service", rules, limit=3) == ["Never build on Friday"]

    async def test_every_part_of_the_filter_applies(self, store: TextStore) -> None:
        await told(
            store,
            a_memory("Zebra one", kind="rule", key="z:1", importance=0.9, data={"n": 1}),
            a_memory("Zebra two", kind="note", key="y:2", importance=0.1, data={"n": 2}, valid_from=NOW - DAY),
        )
        both = {"Zebra one", "Zebra two"}
        assert set(await found(store, "zebra")) == both
        one = [
            Filter(scope=a_scope(), kinds=("rule",)),
            Filter(scope=a_scope(), key="z:1"),
            Filter(scope=a_scope(), key_prefix="z:"),
            Filter(scope=a_scope(), data={"n": {"lt": 2}}),
            Filter(scope=a_scope(), since=NOW - HOUR),
            Filter(scope=a_scope(), least_importance=0.5),
        ]
        for asked in one:
            assert await found(store, "zebra", asked) == ["Zebra one"], asked
        assert await found(store, "zebra", Filter(scope=a_scope(), until=NOW)) == ["Zebra two"]

    async def test_isolation(self, store: TextStore) -> None:
        for tenant in ("acme", "evil"):
            for user in ("anna", "bob", None):
                await told(store, a_memory(f"Zebra of {user} at {tenant}", scope=Scope(tenant=tenant, user=user)))
        anna = Scope(tenant="acme", user="anna")
        assert set(await found(store, "zebra", Filter(scope=anna))) == {
            "Zebra of anna at acme",
            "Zebra of None at acme",
        }
        assert await found(store, "zebra", Filter(scope=anna, reach="holds")) == ["Zebra of anna at acme"]
        assert await found(store, "zebra", Filter(scope=Scope(tenant="other"))) == []
        assert len(await found(store, "zebra", Filter(scope=Scope(tenant="evil")))) == 3

    async def test_a_bound_reader_finds_of_users_what_names_the_same(self, store: TextStore) -> None:
        for user, project in (("anna", None), ("anna", "p"), (None, None), (None, "q")):
            await told(store, a_memory(f"Zebra of {user} in {project}", scope=Scope(user=user, project=project)))
        for where in ({"project": "p"}, {"project": "p", "user": "anna"}):
            for asked in (Filter(scope=Scope(**where, bound=bound)) for bound in (None, "project")):
                left = {"Zebra of anna in p", "Zebra of None in None"}
                open_too = set() if asked.scope.bound else {"Zebra of anna in None"}
                assert set(await found(store, "zebra", asked)) == left | open_too
                assert set(await found(store, "zebra", replace(asked, history=True))) == left | open_too

    async def test_only_what_holds_now_is_found(self, store: TextStore) -> None:
        stored = await told(
            store,
            a_memory("Zebra now"),
            a_memory("Zebra past", valid_from=NOW - 2 * DAY, valid_to=NOW - DAY),
            a_memory("Zebra future", valid_from=NOW + DAY),
            a_memory("Zebra expired", expires_at=NOW),
            a_memory("Zebra forgotten"),
            a_memory("Zebra of a clock ahead", created_at=NOW + DAY, valid_from=NOW + DAY),
        )
        await store.close(a_scope(), [stored[4].id], at=NOW, because="forgotten")
        present = {"Zebra now", "Zebra of a clock ahead"}
        assert set(await found(store, "zebra")) == present
        assert len(await found(store, "zebra", Filter(scope=a_scope(), history=True))) == 6
        assert set(await found(store, "zebra", now=NOW + DAY)) == {*present, "Zebra future"}

    async def test_as_of_finds_the_past(self, store: TextStore) -> None:
        old = a_memory("Zebra in Rome", key="home", created_at=NOW - 3 * DAY)
        new = a_memory("Zebra in Oslo", key="home", created_at=NOW - DAY)
        await store.write([old, new], replace_by_key)
        assert await found(store, "zebra") == ["Zebra in Oslo"]
        then = Filter(scope=a_scope(), as_of=AsOf(known_at=NOW - 2 * DAY, valid_at=NOW - 2 * DAY))
        assert await found(store, "zebra", then) == ["Zebra in Rome"]
        assert await found(store, "Rome") == []

    async def test_adjusting_touching_and_marking_do_not_disturb(self, store: TextStore) -> None:
        [stored] = await told(store, a_memory("Zebra"))
        await store.adjust(a_scope(), stored.id, importance=0.9)
        await store.touch({a_scope(): [stored.id]}, at=NOW)
        await store.mark([stored.id], 1)
        assert await found(store, "zebra") == ["Zebra"]
        await store.adjust(a_scope(), stored.id, expires_at=NOW)
        assert await found(store, "zebra") == []

    async def test_what_is_loaded_is_found(self, store: TextStore) -> None:
        await store.load([a_memory("Zebra"), a_memory("Old zebra").closed(NOW, because="replaced", by=new_id())])
        assert await found(store, "zebra") == ["Zebra"]

    async def test_what_is_purged_is_not_found(self, store: TextStore) -> None:
        stored = await told(store, a_memory("Zebra one"), a_memory("Zebra two"))
        await store.purge(a_scope(), [stored[0].id])
        assert await found(store, "zebra", Filter(scope=a_scope(), history=True)) == ["Zebra two"]
        assert await found(store, "one", Filter(scope=a_scope(), history=True)) == []
        assert await store.check() == []

    async def test_a_write_that_fails_leaves_no_words(self, store: TextStore) -> None:
        [stored] = await told(store, a_memory("First", key="k"))
        with pytest.raises(IdTaken):
            await store.write([a_memory("Zebra"), a_memory("Second", id=stored.id)], keep_all)
        assert await found(store, "zebra") == []
        assert await store.check() == []

    async def test_rebuild_builds_the_same_index_again(self, store: TextStore) -> None:
        await told(store, *fillers(10), a_memory("Zebra", key="pref:animal"))
        before = [await found(store, question) for question in ("zebra", "service 3", "animal")]
        assert await store.rebuild() == 11
        assert [await found(store, question) for question in ("zebra", "service 3", "animal")] == before
        assert await store.check() == []
