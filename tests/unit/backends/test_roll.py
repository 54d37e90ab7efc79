"""The roll of what an index holds in memory, asked while others add to it."""

from scrubjay.backends.roll import Roll
from scrubjay.model import Filter, Scope


class Told(dict[str, int]):
    """The kinds of a roll, to which another thread adds each one in the moment it is asked for."""

    def __contains__(self, kind: object) -> bool:
        self.setdefault(str(kind), len(self))
        return True


def test_a_kind_that_is_added_in_the_middle_of_a_search_does_not_break_it():
    roll = Roll()
    roll.know_scopes([(1, ("", "", "", "", ""))])
    roll.enter([1], ["note"], [True], [0], [None])
    roll._kind_codes = Told(roll._kind_codes)
    assert not len(roll.chosen(Filter(scope=Scope(), kinds=("rule",)), now=1))
    assert roll.chosen(Filter(scope=Scope(), kinds=("rule", "note")), now=1).tolist() == [0]
