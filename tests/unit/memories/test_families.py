"""Families of tasks: found by themselves, the same every time, and never reshuffled by what comes later."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from scrubjay.memories.learning.families import Families
from scrubjay.memories.learning.regexes import matches

KINDS = {
    "deploy": ["deploy the {} service to staging", "deploy {} service to production", "redeploy the {} service"],
    "tests": ["write unit tests for the {} parser", "add unit tests for {} lexer", "unit tests for {} are missing"],
    "login": ["fix login bug in {} auth", "login bug: {} auth token", "fix auth login bug for {}"],
}
NAMES = ("billing", "search", "orders", "mail", "reports", "maps")


def some_tasks(many, seed=0):
    chance = random.Random(seed)
    for _ in range(many):
        kind = chance.choice(sorted(KINDS))
        yield kind, chance.choice(KINDS[kind]).format(chance.choice(NAMES))


def joined(descriptions):
    families = Families()
    return families, [families.join(one, success=True) for one in descriptions]


def test_tasks_told_alike_are_one_family_and_others_are_not():
    told = list(some_tasks(120))
    _, places = joined([text for _, text in told])
    of_kind = {}
    for (kind, _), place in zip(told, places, strict=True):
        of_kind.setdefault(place[1], []).append(kind)
    large = [kinds for kinds in of_kind.values() if len(kinds) >= 10]
    assert len(large) >= 3
    assert all(len(set(kinds)) == 1 for kinds in large)
    assert sum(map(len, large)) >= 100


def test_a_family_has_a_readable_name_and_a_regex_that_finds_it():
    told = list(some_tasks(120))
    families, places = joined([text for _, text in told])
    number = places[[kind for kind, _ in told].index("deploy")][1]
    assert {"deploy", "service"} & set(families.name(number).split())
    regex, precision, recall = families.regex(number)
    found = [kind for kind, text in told if matches(regex, text)]
    assert found.count("deploy") >= 0.9 * len(found)
    assert (precision, recall) > (0.8, 0.5)


def test_narrow_families_are_inside_wide_ones():
    families, _ = joined([text for _, text in some_tasks(60)])
    for member in families.members:
        if member.parent is not None:
            assert families.members[member.parent].parent is None
            assert member.size <= families.members[member.parent].size
    wide = [member for member in families.members if member.parent is None]
    narrow = [member for member in families.members if member.parent is not None]
    assert sum(one.size for one in wide) == sum(one.size for one in narrow) == 60


def test_ids_do_not_depend_on_what_comes_later():
    told = [text for _, text in some_tasks(60)]
    few, _ = joined(told[:30])
    many, _ = joined(told)
    assert [member.id for member in few.members] == [member.id for member in many.members[: len(few.members)]]


def test_a_new_description_finds_its_family_without_joining():
    told = list(some_tasks(120))
    families, places = joined([text for _, text in told])
    deploys = {place[1] for (kind, _), place in zip(told, places, strict=True) if kind == "deploy"}
    found = families.nearest("deploy the newest service to staging")
    assert found is not None
    assert found[1] in deploys
    assert families.nearest("zzz qqq") is None
    assert families.nearest("12 34") is None


def test_a_description_without_words_has_no_family():
    families, places = joined(["12345", "!!"])
    assert places == [None, None]
    assert families.members == []


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text(alphabet="abcde ", min_size=1, max_size=30), max_size=30))
def test_the_same_tasks_give_the_same_families_and_old_ones_stay(texts):
    one, places = joined(texts)
    other, again = joined(texts)
    assert places == again
    assert [(m.id, m.size, m.parent) for m in one.members] == [(m.id, m.size, m.parent) for m in other.members]
    _, first = joined(texts[: len(texts) // 2])
    assert first == places[: len(texts) // 2]
    for number in range(len(one.members)):
        assert one.name(number)
        regex, precision, recall = one.regex(number)
        assert 0 <= precision <= 1
        assert 0 <= recall <= 1
        matches(regex, "any text")


def test_no_family_is_found_or_named_by_stop_words():
    told = [
        "roll out the release of the shop",
        "find out about the outage",
        "clean the old logs out",
        "the mail is out",
    ]
    families, places = joined(told * 5)
    assert len({place[0] for place in places}) == len(told)
    for number in range(len(families.members)):
        assert not {"the", "out", "of", "about", "is"} & {*families.telling(number), *families.name(number).split()}
        assert not {r"\bthe\b", r"\bout\b"} & {*families.regex(number)[0].split(".*")}
