"""What the core verbs are made of: the stores, the models, and what was decided about them."""

import asyncio
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from scrubjay.errors import Closed
from scrubjay.model import Scope
from scrubjay.model.work import Policy
from scrubjay.model.working import Source
from scrubjay.model.workspace import WorkspaceRules
from scrubjay.ports import Chat, Clock, Events, Inspected, Probe, Redactor, Stores, Tokens, Trees, Working
from scrubjay.ports.access import AccessStores
from scrubjay.ports.upkeep import Works
from scrubjay.read.reread import Rereading
from scrubjay.read.retrieve import AskServing
from scrubjay.write.index import Index
from scrubjay.write.later import Later
from scrubjay.write.remember import Writer
from scrubjay.write.uses import Uses


class Opened:
    """Whether a memory is open, and on which event loop: what it waits with belongs to that one."""

    def __init__(self) -> None:
        self._is_set = False
        self._loop: asyncio.AbstractEventLoop | None = None

    def set(self) -> None:
        """Note that it is open now, on the loop that runs."""
        self._loop = _running()
        self._is_set = True

    def clear(self) -> None:
        """Note that it is closed."""
        self._is_set = False

    def is_set(self) -> bool:
        """Whether it is open."""
        return self._is_set

    def check(self) -> None:
        """Raise Closed where it cannot be used: when it is not open, and on another loop than its own."""
        if not self._is_set:
            raise Closed
        if (loop := _running()) is not self._loop and loop is not None:
            raise Closed(
                "this memory was opened on another event loop, such as that of an earlier asyncio.run: open one on "
                "each with scrubjay.open_async(), or use scrubjay.open(), which serves all loops and threads"
            )


def _running() -> asyncio.AbstractEventLoop | None:
    """The event loop that runs here; None on a thread without one."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What the verbs are made of. All tenants share one set, and it is open or closed as one."""

    stores: Stores
    index: Index
    events: Events
    redactor: Redactor | None
    tokens: Callable[[], Tokens]
    clock: Clock
    working: Working
    names: Mapping[str, str]
    """How `stats` calls the stores and the model."""
    bytes_on_disk: Callable[[], int | None] = lambda: None
    inspected: Mapping[str, Inspected] = field(default_factory=dict)
    """The stores that say how they are set up."""
    probes: Mapping[str, Probe] = field(default_factory=dict)
    """Whom to ask whether `records`, `vectors`, `embedder` and others are there; those of this process are left out."""
    former_working: Working | None = None
    """Where sessions were kept with another setting: the drain moves what is left there. None where nothing can be."""
    working_source: Source = "both"
    """Where the messages of a session are read unless a caller says otherwise."""
    works: Works | None = None
    """What consolidation needs beside the stores; None where nothing is consolidated."""
    policy: Policy = field(default_factory=Policy)
    archive: Path | None = None
    """The folder for archived episodes; None where there is none."""
    workspace: WorkspaceRules = field(default_factory=WorkspaceRules)
    """Whether workspace memory is on, and how much of a job it keeps."""
    trees: Trees | None = None
    """Compares cited code with the working trees of this machine; None where nothing is compared."""
    later: Later = field(default_factory=Later)
    """Where work is left by those who must not wait."""
    grown: dict[tuple[Scope, str], tuple[int, datetime]] = field(default_factory=dict)
    """The bytes kept for each repository that this process wrote to, and when they were last counted."""
    chat: Chat | None = None
    """A language model that may improve what is distilled; None without one."""
    rereading: Rereading | None = None
    """A model that reads the best of what was found again, with the question; None without one."""
    access: AccessStores | None = None
    """Keys, the audit log and kept answers; None where there are none."""
    is_open: Opened = field(default_factory=Opened)
    writer: Writer = field(init=False)
    uses: Uses = field(init=False)

    def __post_init__(self) -> None:
        stores = self.stores
        writer = Writer(stores=stores, index=self.index, redactor=self.redactor, events=self.events, clock=self.clock)
        object.__setattr__(self, "writer", writer)
        object.__setattr__(self, "uses", Uses(stores.records, self.clock))

    def written_by(self, writer: Writer) -> "Parts":
        """The same parts with another writer."""
        other = copy(self)
        # Frozen for everybody else: this copy is not handed out yet.
        object.__setattr__(other, "writer", writer)
        return other

    @property
    def sessions_in(self) -> tuple[Working, ...]:
        """Every store that may hold sessions; the one that keeps them first."""
        return (self.working,) if self.former_working is None else (self.working, self.former_working)

    @property
    def serving(self) -> AskServing | None:
        """Whom to ask which generation answers by meaning; None when search is by words only."""
        return self.index.serving if self.index.embedder is not None else None
