"""Scrubjay without `await`. Forwards only: nothing has a second body."""

from collections.abc import Iterator
from types import TracebackType
from typing import Self, Unpack

from scrubjay.errors import Closed
from scrubjay.read.narrow import Narrow
from scrubjay.service import Scrubjay
from scrubjay.sync.forward import Blocking, Loop, forward


class SyncScrubjay(Blocking[Scrubjay]):
    """Memory for agents, without `await`. See `Scrubjay`: the verbs and their keywords are the same."""

    def __init__(self, jay: Scrubjay) -> None:
        super().__init__(jay, Loop())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def start(self) -> Self:
        """Bring the store up to date and begin. `scrubjay.open()` has done it for you."""
        try:
            self._loop.run(self._verbs.start)
        except BaseException:
            self.close()
            raise
        return self

    def close(self) -> None:
        """Finish what is under way and let go of everything. Safe to call twice."""
        try:
            self._loop.run(self._verbs.close)
        except Closed:
            return
        self._loop.stop()

    remember = forward(Scrubjay.remember)
    remember_many = forward(Scrubjay.remember_many)
    update = forward(Scrubjay.update)
    forget = forward(Scrubjay.forget)
    recall = forward(Scrubjay.recall)
    context = forward(Scrubjay.context)
    get = forward(Scrubjay.get)
    history = forward(Scrubjay.history)
    around = forward(Scrubjay.around)
    list = forward(Scrubjay.list)
    count = forward(Scrubjay.count)
    stats = forward(Scrubjay.stats)
    import_lines = forward(Scrubjay.import_lines)
    reindex = forward(Scrubjay.reindex)
    rollback = forward(Scrubjay.rollback)
    sweep = forward(Scrubjay.sweep)
    check = forward(Scrubjay.check)

    def export(self, **narrow: Unpack[Narrow]) -> Iterator[str]:
        """Stream the memories inside the scope as lines of JSON, every version unless narrowed."""
        lines = self._verbs.export(**narrow)
        while (line := self._loop.run(lambda: anext(lines, None))) is not None:
            yield line

    @property
    def tenant(self) -> str:
        """Whose memories these are."""
        return self._verbs.tenant

    def for_tenant(self, tenant: str) -> "SyncScrubjay":
        """The same memory for another tenant. It lives and closes with this one."""
        other = SyncScrubjay.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._verbs = self._verbs.for_tenant(tenant)  # noqa: SLF001 -- our own class
        return other
