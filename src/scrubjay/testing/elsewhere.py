"""What every store of notes has to do that says what is kept elsewhere."""

from scrubjay.ports.at_rest import Elsewhere, KeptElsewhere
from scrubjay.testing.values import DAY, NOW


class ElsewhereSuite:
    """Derive from it, name the class `Test…`, and give it a fixture `elsewhere` that yields an empty one."""

    async def test_nothing_is_noted_at_first(self, elsewhere: Elsewhere) -> None:
        assert await elsewhere.kept("sessions") == []

    async def test_every_place_is_noted_the_oldest_first(self, elsewhere: Elsewhere) -> None:
        await elsewhere.keep("sessions", "redis://two", at=NOW)
        await elsewhere.keep("sessions", "redis://one", at=NOW - DAY)
        await elsewhere.keep("answers", "redis://two", at=NOW)
        assert await elsewhere.kept("sessions") == [
            KeptElsewhere("sessions", "redis://one", NOW - DAY),
            KeptElsewhere("sessions", "redis://two", NOW),
        ]

    async def test_a_place_that_is_noted_again_is_kept_there_since_the_first_time(self, elsewhere: Elsewhere) -> None:
        await elsewhere.keep("sessions", "redis://one", at=NOW)
        await elsewhere.keep("sessions", "redis://one", at=NOW + DAY)
        assert await elsewhere.kept("sessions") == [KeptElsewhere("sessions", "redis://one", NOW)]

    async def test_what_is_gone_from_elsewhere_is_forgotten_but_for_one_place(self, elsewhere: Elsewhere) -> None:
        for what, place in (("sessions", "redis://one"), ("sessions", "redis://two"), ("answers", "redis://one")):
            await elsewhere.keep(what, place, at=NOW)
        await elsewhere.forget("sessions", but="redis://two")
        assert [note.place for note in await elsewhere.kept("sessions")] == ["redis://two"]
        assert [note.place for note in await elsewhere.kept("answers")] == ["redis://one"]
        await elsewhere.forget("sessions", but="")
        assert await elsewhere.kept("sessions") == []
