"""Whose request it is, and what it may do. A route names the right it needs by what it asks for, and nothing else.

Jay            read      for what only reads, whatever its method
WriteJay       write     for what stores, changes or forgets
ReadWriteJay   both      for what changes something and answers with what somebody else may have told
HeavyJay       read      for what reads through much of the memory: export, examine
HeavyWriteJay  write     for what works through much of it: import, consolidate, ingest
HeavyBothJay   both      for what works through much of it and answers with what somebody else may have told: learn
AdminJay       admin     for what concerns the whole tenant: its keys, its log, its parked work
OperatorJay    admin     for what concerns the whole installation; only keys of the installation's own tenant
Anybody        none      for what says who is asking, and nothing of what is remembered

Each is a `Scrubjay` of the key's tenant, inside the key's bounds: what a route does with it cannot reach further.
"""

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from ipaddress import ip_address, ip_network
from typing import Annotated, Final, TypeAlias, cast

import structlog
from fastapi import Depends, Request
from fastapi.security import APIKeyHeader, HTTPBearer
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from scrubjay.doors.http import is_loopback, pages
from scrubjay.doors.http.guard import Allowance
from scrubjay.doors.http.limits import check_allowed, headers_of, too_many_failed
from scrubjay.doors.http.opening import Opening
from scrubjay.doors.http.problems import problem, problem_of
from scrubjay.doors.http.turns import Turns, Waiting
from scrubjay.errors import Forbidden, Overloaded, ScrubjayError, TooManyRequests, Unauthenticated
from scrubjay.model import Stats
from scrubjay.model.access import ApiKey, Caller, Right, RouteClass, Spent
from scrubjay.service import Scrubjay

OPEN: Final = frozenset({"/healthz", "/readyz", "/version", "/metrics", "/docs", "/lab", "/openapi.json"})
"""What anybody may ask: it says how the service is doing, and nothing of what it remembers."""

_HARMLESS: Final = frozenset({"/healthz", "/version"})
"""What may be asked under any name: there is nothing in it that a foreign page could want."""

_LINKED: Final = OPEN | {"/"}
"""What a page of another site may link to."""

_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})

_AUTHORITY: Final = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{0,5})?")
"""A host and maybe a port, and nothing else. What is read more generously is read in other ways by browsers."""

_SITE: Final = 64
"""Bits of an IPv6 address that its owner cannot choose."""

NOTICED: Final = timedelta(seconds=0.25)
"""How late a server on this machine alone notices that the first key was made elsewhere. Asking costs a read."""


@dataclass(slots=True, kw_only=True)
class Visit:
    """What is known of a request while it is worked on."""

    key: ApiKey | None
    """None: it came without a key, from this machine."""
    jay: Scrubjay
    home: str
    """The tenant of the installation itself."""
    needs: Right | None = None
    """The right that what it does takes: that of its route, or less."""
    is_secret: bool = False
    """Whether the answer must not be kept anywhere: it may hold a new key."""
    spent: Spent | None = None
    kind: RouteClass = "read"
    """What its route costs."""
    turns: Turns
    admitted_by: "Needs | None" = None
    waiting: Waiting | None = None
    """Its place among those who wait."""
    has_body: bool = False
    """Whether its body was received as a whole, with the turn that this takes."""

    @asynccontextmanager
    async def received(self, headers: Headers, receive: Callable[[], Awaitable[bytes]]) -> AsyncIterator[bytes]:
        """Receive the body as a whole. One that is large has a turn until the block ends, and has it once."""
        if self.key is None or self.has_body:
            yield await self._aside(receive)
            return
        async with self.turns.received(self.key.tenant, headers, partial(self._aside, receive)) as body:
            self.has_body = True
            yield body

    async def _aside(self, receive: Callable[[], Awaitable[bytes]]) -> bytes:
        with self.waiting.aside() if self.waiting is not None else nullcontext():
            return await receive()

    @property
    def is_operator(self) -> bool:
        """Whether whoever runs the installation is asking: they may know where its stores are, and what ails them."""
        return self.key is None or (self.key.tenant == self.home and self.key.may("admin"))

    def told(self, stats: Stats) -> Stats:
        """The same; where the records are is told to whoever runs the installation."""
        return stats if self.is_operator else replace(stats, records=stats.records.partition(":")[0])

    def may(self, right: Right) -> bool:
        """Whether the key has this right. Whoever needs no key has all of them."""
        return self.key is None or self.key.may(right)

    def check(self, right: Right) -> None:
        """Raise Forbidden unless the key has this right."""
        if self.key is not None and not self.may(right):
            held = ", ".join(self.key.rights)
            raise Forbidden(f"this needs the right to {right}, and key {self.key.id} has {held}: use another key")

    def only_reads(self) -> None:
        """Note that this request changes nothing, whatever its route does. Raises Forbidden as `check` does."""
        self.check("read")
        self.needs = "read"

    def check_operator(self) -> None:
        """Raise Forbidden unless the key belongs to whoever runs the installation."""
        if self.key is not None and self.key.tenant != self.home:
            raise Forbidden("this concerns every tenant: use an admin key of the installation's own tenant")


class Doorkeeper:
    """Looks at the key of every request, before anything else does. Without one, only this machine may come in."""

    def __init__(self, app: ASGIApp, *, host: str, turns: int, longest_wait: float) -> None:
        self._app = app
        self._is_private = is_loopback(host)
        self._turns = Turns(turns, longest_wait=longest_wait)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the request through with what is known of it, or answer it here."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers, path = Headers(scope=scope), scope["path"]
        key = _key_in(headers)
        # A web page can make a browser send requests here under a name of its own that resolves to this machine.
        # Without a key, the name is what tells such a request from one that was meant for us.
        if key is None and self._is_private and path not in _HARMLESS and not is_loopback(_name(headers)):
            detail = f"the host is {headers.get('host', '')[:80]!r}: without a key, only localhost is served"
            refused = problem(kind="MisdirectedRequest", status=421, detail=detail, path=path)
            await refused(scope, receive, send)
            return
        # And what has no body can be sent to any name without asking: a browser says which page did it.
        if key is None and scope["method"] not in _SAFE and not is_ours(headers):
            detail = f"the origin is {headers['origin'][:80]!r}: without a key, only pages of this machine may write"
            await problem(kind="Forbidden", status=403, detail=detail, path=path)(scope, receive, send)
            return
        # A page cannot read the answer to its question, but a question takes time, and counts as a use.
        is_foreign = headers.get("sec-fetch-site") == "cross-site" and not ("origin" in headers and is_ours(headers))
        if key is None and path not in _LINKED and is_foreign:
            detail = "a page of another site asks: without a key, only pages of this machine are answered"
            await problem(kind="Forbidden", status=403, detail=detail, path=path)(scope, receive, send)
            return
        if path in OPEN:
            scope.setdefault("state", {})["is_operator"] = partial(self._is_operator, scope, key)
            await self._app(scope, receive, send)
            return
        try:
            self._turns.crowd.check_room()  # Whoever it is: to find that out takes time, too.
            visit = await self._admitted(scope, key)
        except Overloaded as error:
            await _shed(error, scope)(scope, receive, send)
            return
        except ScrubjayError as error:
            await (await self._refusal(scope, error, key))(scope, receive, send)
            return
        scope.setdefault("state", {})["visit"] = visit
        await self._let_in(visit, scope, receive, send)

    async def _let_in(self, visit: Visit, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand the request on, unless too many others are under way."""

        async def counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                waiting.end(is_answered=True)
                if visit.spent is not None:
                    MutableHeaders(scope=message).update(headers_of(visit.spent))
            await send(message)

        with ExitStack() as under_way:
            try:
                waiting = under_way.enter_context(self._turns.counted(visit.jay.tenant))
            except (Overloaded, TooManyRequests) as error:
                await _shed(error, scope)(scope, receive, send)
                return
            visit.waiting = waiting
            await self._app(scope, receive, counted)

    async def _is_operator(self, scope: Scope, key: str | None) -> bool:
        """Whether whoever runs the installation is asking, as far as that can be known now."""
        try:
            return (await self._admitted(scope, key)).is_operator
        except ScrubjayError:
            return self._is_alone(scope, key)

    def _is_alone(self, scope: Scope, key: str | None) -> bool:
        """Whether it comes from this machine, to a service that had no keys when its records were last asked."""
        access = cast("Opening", scope["app"].state.opening).jay.access
        return key is None and self._is_private and access.had_no_keys

    async def _refusal(self, scope: Scope, error: ScrubjayError, key: str | None) -> Response:
        """The answer to a request that is not let in. An address whose keys fail too often is told to wait.

        A key that is valid is let in all the same: it may be another program behind the same address.
        """
        if key is not None and isinstance(error, Unauthenticated):
            spent = await scope["app"].state.opening.jay.access.spend(address_of(scope), "failed")
            if spent is not None and spent.refused:
                refused = problem_of(too_many_failed(spent), scope["path"])
                refused.headers.update(headers_of(spent))
                return refused
        answer = problem_of(error, scope["path"], to_operator=self._is_alone(scope, key))
        if isinstance(error, Unauthenticated) and _is_person(scope):
            url = str(Request(scope).base_url).rstrip("/")
            challenge = {"WWW-Authenticate": answer.headers["WWW-Authenticate"]}
            return HTMLResponse(pages.key_needed(url=url), status_code=error.status, headers=challenge)
        return answer

    async def _admitted(self, scope: Scope, key: str | None) -> Visit:
        opening = cast("Opening", scope["app"].state.opening)
        opening.check_open()
        jay, request = opening.jay, str(structlog.contextvars.get_contextvars().get("request_id", ""))
        if key is not None:
            known = await jay.access.authenticate(key)
            caller = Caller(key=known.id, bounds=known.bounds, request=request)
            theirs = jay.for_tenant(known.tenant).for_caller(caller)
            return Visit(key=known, jay=theirs, home=jay.tenant, turns=self._turns)
        if not self._is_private or await jay.access.wants_keys(within=NOTICED):
            raise Unauthenticated
        return Visit(key=None, jay=jay.for_caller(Caller(request=request)), home=jay.tenant, turns=self._turns)


def _shed(error: Overloaded | TooManyRequests, scope: Scope) -> Response:
    """The answer to a request for which there is no room, and a note for whoever counts these."""
    scope.setdefault("state", {})["is_shed"] = isinstance(error, Overloaded)
    return problem_of(error, scope["path"])


def _key_in(headers: Headers) -> str | None:
    """The key that the request carries; None when it carries none."""
    kind, _, given = headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer":
        return given.strip()
    return headers.get("x-api-key")


def _name(headers: Headers) -> str:
    """The host that was asked for, without its port. Empty when the header is no host and port."""
    found = _AUTHORITY.fullmatch(headers.get("host", ""))
    return found["host"] if found is not None else ""


def is_ours(headers: Headers) -> bool:
    """Whether it comes from no page, as what programs send does, or from one of this server or this machine."""
    origin = headers.get("origin")
    if origin is None:
        return True
    found = _AUTHORITY.fullmatch(re.sub("^[a-z][a-z0-9+.-]*://", "", origin, count=1))
    return found is not None and (found[0] == headers.get("host") or is_loopback(found["host"]))


def _is_person(scope: Scope) -> bool:
    """Whether somebody opened the home page in a browser: programs do not ask for pages."""
    return (
        scope["path"] == "/"
        and scope["method"] in ("GET", "HEAD")
        and "text/html" in Headers(scope=scope).get("accept", "")
    )


def address_of(scope: Scope) -> str:
    """Where a request comes from: of the addresses of one site in the newer protocol, what they have in common."""
    host = str((scope.get("client") or ("",))[0])
    try:
        found = ip_address(host)
    except ValueError:
        return host
    return host if found.version == 4 else str(ip_network((found, _SITE), strict=False))


def visit_of(request: Request) -> Visit:
    """What is known of this request. Raises Unauthenticated for one that nobody looked at."""
    visit = getattr(request.state, "visit", None)
    if not isinstance(visit, Visit):
        raise Unauthenticated
    return visit


async def is_still_admitted(request: Request) -> bool:
    """Whether a request that has been answered for a while would still be let in: its key may be revoked meanwhile."""
    access, key = cast("Opening", request.app.state.opening).jay.access, _key_in(request.headers)
    try:
        if key is None:
            return not await access.wants_keys()
        await access.authenticate(key)
    except ScrubjayError:
        return False
    return True


_BEARER: Final = HTTPBearer(
    auto_error=False, scheme_name="bearer", description="An API key, as `scrubjay keys create` shows it."
)
_HEADER: Final = APIKeyHeader(name="X-API-Key", auto_error=False, scheme_name="header", description="The same key.")


class Needs:
    """What a route asks of whoever comes: a right, and room in the allowance of the key."""

    def __init__(
        self,
        right: Right | None,
        kind: RouteClass,
        *,
        operator: bool = False,
        noted: bool = False,
        secret: bool = False,
        shows: bool = False,
    ) -> None:
        self._right = right
        self._shows = shows
        self._kind: RouteClass = kind
        self._operator = operator
        self._noted = noted
        self._secret = secret

    async def __call__(
        self,
        request: Request,
        _bearer: Annotated[object, Depends(_BEARER)],
        _header: Annotated[object, Depends(_HEADER)],
    ) -> Scrubjay:
        """The memory that this request may use. Raises Forbidden and TooManyRequests. Asked again, it counts once."""
        visit = visit_of(request)
        return visit.jay if visit.admitted_by is self else await self.admit(request)

    async def admit(self, request: Request) -> Scrubjay:
        """The same, and counted each time."""
        visit = visit_of(request)
        visit.kind, visit.needs = self._kind, self._right
        if self._shows:
            visit.check("read")
        if self._right is not None:
            visit.check(self._right)
        visit.is_secret = self._secret
        if self._operator:
            visit.check_operator()
        if visit.key is not None:
            visit.spent = await visit.jay.access.spend(visit.key, self._kind)
            if visit.spent is not None:
                check_allowed(visit.spent)
        if self._kind == "heavy":
            if visit.waiting is not None:
                visit.waiting.end()  # It takes turns with its like, and nobody waits behind it.
            cast("Allowance", request.state.allowance).widen()
        if self._noted and request.method not in _SAFE:
            await visit.jay.access.log.note("admin.requested", f"{request.method} {request.url.path}"[:255])
        visit.admitted_by = self
        return visit.jay


async def sees_details(request: Request) -> bool:
    """Whether what anybody may ask is answered in full: where the stores are, and what ails them."""
    found: bool = await request.state.is_operator()
    return found


Jay: TypeAlias = Annotated[Scrubjay, Depends(Needs("read", "read"))]
WriteJay: TypeAlias = Annotated[Scrubjay, Depends(Needs("write", "write"))]
ReadWriteJay: TypeAlias = Annotated[Scrubjay, Depends(Needs("write", "write", shows=True))]
HeavyJay: TypeAlias = Annotated[Scrubjay, Depends(Needs("read", "heavy"))]
HeavyWriteJay: TypeAlias = Annotated[Scrubjay, Depends(Needs("write", "heavy"))]
HeavyBothJay: TypeAlias = Annotated[Scrubjay, Depends(Needs("write", "heavy", shows=True))]
AdminJay: TypeAlias = Annotated[Scrubjay, Depends(Needs("admin", "write", noted=True))]
OperatorJay: TypeAlias = Annotated[Scrubjay, Depends(Needs("admin", "heavy", operator=True, noted=True))]

Anybody: TypeAlias = Annotated[Scrubjay, Depends(Needs(None, "read"))]

KeysJay: TypeAlias = Annotated[Scrubjay, Depends(Needs("admin", "write", secret=True))]
"""For the routes of keys, which write into the log by themselves, and whose answers are kept nowhere."""
