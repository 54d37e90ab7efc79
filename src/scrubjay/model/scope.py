"""Where a memory belongs, and who can see it from where."""

from dataclasses import dataclass, field, fields
from typing import Final, TypedDict

from scrubjay.errors import InvalidInput
from scrubjay.model.checks import check_name, shown
from scrubjay.model.remedies import instead

DEFAULT_TENANT: Final = "default"


class Where(TypedDict, total=False):
    """The keywords that name a scope in every verb. The tenant is not among them: it comes with the key."""

    user: str | None
    project: str | None
    agent: str | None
    session: str | None
    workflow: str | None


class OfAgent(TypedDict, total=False):
    """Where an agent lives, but for its name. It outlives its sessions, so none is named."""

    user: str | None
    project: str | None
    workflow: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """A place: a tenant, and any of user, project, agent, session and workflow. What is not named is open.

    >>> Scope(user="u-42").holds(Scope(user="u-42", project="p-1"))
    True
    >>> Scope(user="u-42", project="p-1").sees(Scope(user="u-42"))
    True
    """

    tenant: str = DEFAULT_TENANT
    user: str | None = None
    project: str | None = None
    agent: str | None = None
    session: str | None = None
    workflow: str | None = None
    bound: str | None = field(default=None, compare=False)
    """Of a reader who is bound to projects or agents and to no user: `project`, `agent`, or `project agent`.

    It sees a user's memory only where that names the same. Says who reads, not where: two places are equal without it.
    """

    def __post_init__(self) -> None:
        if self.tenant is None:
            raise InvalidInput("tenant is None: name one, or leave it out")
        for name in SCOPE_NAMES:
            if (value := getattr(self, name)) is not None:
                check_name(name, value)

    def holds(self, other: "Scope") -> bool:
        """Whether `other` lies inside: all that this scope names, `other` names alike."""
        return self.tenant == other.tenant and all(
            mine is None or mine == theirs for mine, theirs in zip(self.names(), other.names(), strict=True)
        )

    def sees(self, other: "Scope") -> bool:
        """Whether a memory in `other` concerns a reader here: nothing that both name differs.

        A reader for one user sees what holds for everybody and what is that user's, never another user's.
        """
        # Written out, since every recall asks it of every candidate.
        return (
            self.tenant == other.tenant
            and (self.user is None or other.user is None or self.user == other.user)
            and (self.project is None or other.project is None or self.project == other.project)
            and (self.agent is None or other.agent is None or self.agent == other.agent)
            and (self.session is None or other.session is None or self.session == other.session)
            and (self.workflow is None or other.workflow is None or self.workflow == other.workflow)
            and (not self.bound or other.user is None or self._binds(other))
        )

    def _binds(self, other: "Scope") -> bool:
        """Whether `other` names all that the reader is bound to."""
        return all(mine is not None and mine == getattr(other, name) for name, mine in self.binding.items())

    @property
    def binding(self) -> dict[str, str | None]:
        """What a user's memory has to name for a bound reader to see it. None: no memory does."""
        return {name: getattr(self, name) for name in self.bound.split()} if self.bound else {}

    def together(self, other: "Scope") -> "Scope":
        """The place of two that see each other: it names all that either of them names."""
        both = zip(PLACE_NAMES, self.names(), other.names(), strict=True)
        return Scope(tenant=self.tenant, **{name: mine if mine is not None else theirs for name, mine, theirs in both})

    @property
    def where(self) -> Where:
        """The names as the keywords of a verb."""
        user, project, agent, session, workflow = self.names()
        return Where(user=user, project=project, agent=agent, session=session, workflow=workflow)

    def names(self) -> tuple[str | None, ...]:
        """User, project, agent, session and workflow, in this order."""
        return (self.user, self.project, self.agent, self.session, self.workflow)

    @property
    def is_whole(self) -> bool:
        """Whether it is all of the tenant, to whoever reads."""
        return not any(self.names()) and not self.bound

    @property
    def level(self) -> str:
        """The name people use for it: the narrowest of what is named."""
        for name in ("session", "workflow", "agent", "project", "user"):
            if getattr(self, name) is not None:
                return name.upper()
        return "GLOBAL"

    @property
    def breadth(self) -> int:
        """How many names are left open: 5 for the whole tenant, 0 for the narrowest place."""
        return self.names().count(None)

    def __str__(self) -> str:
        named = [f"{name}={value}" for name, value in zip(PLACE_NAMES, self.names(), strict=True) if value is not None]
        return " ".join(named) or "global"

    def __repr__(self) -> str:
        given = [
            f"{name}={getattr(self, name)!r}"
            for name in SCOPE_NAMES
            if getattr(self, name) != (DEFAULT_TENANT if name == "tenant" else None)
        ]
        return f"Scope({', '.join(given)})"


SCOPE_NAMES: Final = tuple(one.name for one in fields(Scope) if one.compare)
PLACE_NAMES: Final = SCOPE_NAMES[1:]


def scope_of(tenant: str, where: Where, *, bound: str | None = None) -> Scope:
    """The scope that a verb's keywords name; a keyword that no scope has is refused. See `Scope.bound`."""
    for name, value in where.items():
        if name not in PLACE_NAMES:
            raise InvalidInput(f"{name}={shown(value)} is not a known option: {instead(name, PLACE_NAMES)}")
    return Scope(tenant=tenant, bound=bound, **where)
