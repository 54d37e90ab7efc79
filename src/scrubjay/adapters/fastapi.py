"""Scrubjay in an application of yours: opened and closed with it, and given to the routes that ask for it.

    from scrubjay.adapters.fastapi import memory

    app = FastAPI(lifespan=memory.lifespan)
    Mine = Annotated[AsyncHybridMemoryService, Depends(memory.of(user=current_user, project="shop"))]

    @app.post("/ask")
    async def ask(question: str, memory: Mine) -> list[str]:
        return [hit.memory.content for hit in await memory.search(question)]

FastAPI is not a part of Scrubjay: pip install 'scrubjay[server]' brings it.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from inspect import Parameter, Signature
from pathlib import Path
from typing import Any, Final, TypeAlias
from weakref import WeakKeyDictionary

from fastapi import Depends, FastAPI, Request
from fastapi.requests import HTTPConnection
from fastapi.responses import JSONResponse

import scrubjay
from scrubjay.adapters.hybrid import AsyncHybridMemoryService
from scrubjay.errors import InvalidInput, ScrubjayError
from scrubjay.logs import logger
from scrubjay.model.checks import shown
from scrubjay.service import Scrubjay

Name: TypeAlias = str | Callable[..., object]
"""A name, or what FastAPI finds it out with for each request: whatever could stand in `Depends`."""

_BOUND: Final = {"user": "users", "project": "projects", "agent": "agents"}
_INTERNAL: Final = 500

log = logger("fastapi")


class FastAPIMemory:
    """A memory that lives as long as an application. Itself, it is the dependency of a route that may see all of it."""

    def __init__(self, home: str | Path | None = None, **settings: object) -> None:
        """`home`, and any setting by name, are what `scrubjay.open` takes. Nothing is opened yet."""
        self._home = home
        self._settings = settings
        self._opened: WeakKeyDictionary[FastAPI, Scrubjay] = WeakKeyDictionary()

    @asynccontextmanager
    async def lifespan(self, app: FastAPI) -> AsyncIterator[None]:
        """Open the memory, and close it when the application stops: `FastAPI(lifespan=memory.lifespan)`.

        In a lifespan of your own: `async with memory.lifespan(app): yield`.
        """
        async with scrubjay.open_async(self._home, **self._settings) as jay:
            self._opened[app] = jay
            try:
                yield
            finally:
                del self._opened[app]

    def of(
        self,
        *,
        user: Name | None = None,
        project: Name | None = None,
        agent: Name | None = None,
        tenant: Name | None = None,
    ) -> Callable[..., AsyncHybridMemoryService]:
        """The dependency of a route that may reach only these: every verb keeps to them, and refuses what lies outside.

        A name that is a function is a dependency itself, asked for each request, such as who sent it. What is left out
        is any; a function that gives no name is refused, for then the route would see what belongs to all.
        """
        given = {"user": user, "project": project, "agent": agent, "tenant": tenant}
        names = {name: value for name, value in given.items() if value is not None}
        for name, value in names.items():
            if not callable(value):
                _check(name, value)

        def narrowed(connection: HTTPConnection, **found: object) -> AsyncHybridMemoryService:
            where = {name: _check(name, found.get(name, value)) for name, value in names.items()}
            jay = self._jay(connection)
            if "tenant" in where:
                jay = jay.for_tenant(where["tenant"])
            bounds: dict[str, Any] = {_BOUND[name]: (value,) for name, value in where.items() if name in _BOUND}
            return AsyncHybridMemoryService(jay.narrowed(**bounds) if bounds else jay)

        # FastAPI reads from the signature what else has to be asked.
        asked = [
            Parameter(name, Parameter.KEYWORD_ONLY, default=Depends(value))
            for name, value in names.items()
            if callable(value)
        ]
        connection = Parameter("connection", Parameter.POSITIONAL_OR_KEYWORD, annotation=HTTPConnection)
        narrowed.__signature__ = Signature([connection, *asked])  # type: ignore[attr-defined]  # inspect looks for it
        return narrowed

    def __call__(self, connection: HTTPConnection) -> AsyncHybridMemoryService:
        """The whole memory, as a dependency: `Depends(memory)`."""
        return AsyncHybridMemoryService(self._jay(connection))

    def _jay(self, connection: HTTPConnection) -> Scrubjay:
        opened = self._opened.get(connection.app)
        if opened is None and len(self._opened) == 1:
            # An application that is mounted in another one has no life of its own.
            [opened] = self._opened.values()
        if opened is None:
            raise InvalidInput("the memory is not open: make the application with FastAPI(lifespan=memory.lifespan)")
        return opened


def answer_errors(app: FastAPI) -> None:
    """Answer what Scrubjay raises in routes of this application with its HTTP status: 400, 404, 409, 503, and so on."""
    app.add_exception_handler(ScrubjayError, _answer)


async def _answer(_request: Request, error: Exception) -> JSONResponse:
    status = error.status if isinstance(error, ScrubjayError) else _INTERNAL
    if status < _INTERNAL:
        return JSONResponse({"detail": str(error)}, status_code=status)
    # It may say where a store is, which is nobody's business outside.
    log.error("memory failed", error=str(error))
    return JSONResponse({"detail": "the memory cannot answer now: try again in a moment"}, status_code=status)


def _check(name: str, value: object) -> str:
    if not isinstance(value, str) or not value:
        raise InvalidInput(f"{name} is {shown(value)}: give a name, or a dependency that finds one out")
    return value


memory: Final = FastAPIMemory()
"""The memory that the environment configures; without any configuration, the one that `scrubjay.open()` opens."""
