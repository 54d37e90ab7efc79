"""The application: the routes, what stands before them, and the memory that opens and closes with it."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.responses import HTMLResponse

from scrubjay import __version__
from scrubjay.doors.http import answers, pages
from scrubjay.doors.http.access import Jay, sees_details, visit_of
from scrubjay.doors.http.aliased import Aliased
from scrubjay.doors.http.entrance import add_entrance
from scrubjay.doors.http.metrics import add_metrics
from scrubjay.doors.http.opening import Opening
from scrubjay.doors.http.probed import Probed
from scrubjay.doors.http.problems import RESPONSES, Problem, translate_errors
from scrubjay.doors.http.routes import router
from scrubjay.doors.http.watched import Watched
from scrubjay.settings import Settings
from scrubjay.wiring import wire
from scrubjay.wiring.telemetry import Telemetry

_ABOUT = """Memory for AI agents: what, where and when.

Every error is a problem detail (RFC 9457) whose `detail` names the field, the value and the remedy."""

_READINESS = {**RESPONSES, 503: {"description": "The records are down.", "model": answers.Readiness}}


def application(settings: Settings, *, counted: Path | None = None) -> FastAPI:
    """Build the service for these settings. The memory opens when it starts and closes when it stops.

    `counted` is the folder where several processes of one service count what they do.
    """
    telemetry = Telemetry(settings, folder=counted)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.opening = opening = Opening(wire(settings), settings)
        app.state.leaving = asyncio.Event()
        with telemetry.watching():
            async with opening.kept():
                yield

    app = FastAPI(
        title="Scrubjay",
        version=__version__,
        description=_ABOUT,
        license_info={"name": "Apache-2.0"},
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
    )
    add_entrance(app, settings)
    # Added last, so that it is the first: also what is refused is counted.
    app.add_middleware(Watched, telemetry=telemetry)
    app.add_middleware(Aliased)
    app.add_middleware(Probed)
    translate_errors(app)
    app.include_router(router, prefix="/v1")
    _add_operations(app)
    add_metrics(app, telemetry)
    _add_pages(app)
    _describe_problems(app)
    return app


def _add_operations(app: FastAPI) -> None:
    """What whoever runs the service asks it."""

    @app.get("/healthz", tags=["operations"], summary="Is it alive?", responses=RESPONSES)
    async def healthz() -> answers.Health:
        """Answer without asking any store."""
        return answers.Health()

    @app.get(
        "/readyz", tags=["operations"], summary="Can it serve?", responses=_READINESS, response_model_exclude_none=True
    )
    async def readyz(request: Request, response: Response) -> answers.Readiness:
        """Ask every store and model, within seconds. Degraded still serves: from words alone if need be.

        Without its records nothing can be served: that is a 503, with the same body. Where a store is and why it is
        down is told to an admin key of the installation's own tenant, and to this machine as long as there are no keys.
        """
        health = await request.app.state.opening.health()
        found = answers.Readiness.of(health, in_full=await sees_details(request))
        if found.status == "down":
            response.status_code = 503
        return found

    @app.get("/version", tags=["operations"], summary="Which version is it?", responses=RESPONSES)
    async def version() -> answers.Version:
        """Name the version."""
        return answers.Version(version=__version__)


def _add_pages(app: FastAPI) -> None:
    """What a person opens in a browser."""

    @app.get("/", include_in_schema=False)
    async def home(request: Request, jay: Jay) -> HTMLResponse:
        found = visit_of(request).told(await jay.stats())
        return HTMLResponse(pages.home(found, url=str(request.base_url).rstrip("/")))

    # Anybody may ask for these: nothing that is remembered is in them. They stay as they are, so each is written once.
    @cache
    def reference() -> str:
        return pages.reference(app.openapi())

    @cache
    def document() -> bytes:
        return json.dumps(app.openapi(), ensure_ascii=False, separators=(",", ":")).encode()

    @app.get("/docs", include_in_schema=False)
    async def docs() -> HTMLResponse:
        return HTMLResponse(reference())

    @app.get("/lab", include_in_schema=False)
    async def lab() -> HTMLResponse:
        return HTMLResponse(pages.lab())

    @app.get("/openapi.json", include_in_schema=False)
    async def openapi() -> Response:
        return Response(document(), media_type="application/json")


def _describe_problems(app: FastAPI) -> None:
    """Put the shape of a problem into the OpenAPI document, where every route refers to it.

    Only when somebody asks for it: the document takes longer to write than everything else that starting does.
    """
    written = app.openapi

    def described() -> dict[str, Any]:
        document = written()
        if "Problem" not in document["components"]["schemas"]:
            schema = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
            document["components"]["schemas"] |= {**schema.pop("$defs"), "Problem": schema}
        return document

    app.openapi = described  # type: ignore[method-assign]  # the way FastAPI offers to extend it
