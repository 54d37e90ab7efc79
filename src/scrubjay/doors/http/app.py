"""The application: the routes, what stands before them, and the memory that opens and closes with it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request, Response
from fastapi.responses import HTMLResponse

from scrubjay import __version__
from scrubjay.doors.http import answers, pages
from scrubjay.doors.http.guard import Guard
from scrubjay.doors.http.opening import Opening
from scrubjay.doors.http.problems import RESPONSES, Problem, translate_errors
from scrubjay.doors.http.routes import Jay, router
from scrubjay.settings import Settings
from scrubjay.wiring import wire

_ABOUT = """Memory for AI agents: what, where and when.

Every error is a problem detail (RFC 9457) whose `detail` names the field, the value and the remedy."""

_READINESS = {**RESPONSES, 503: {"description": "The records are down.", "model": answers.Readiness}}


def application(settings: Settings) -> FastAPI:
    """Build the service for these settings. The memory opens when it starts and closes when it stops."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.opening = opening = Opening(wire(settings), settings)
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
    )
    app.add_middleware(Guard)
    translate_errors(app)
    app.include_router(router, prefix="/v1")
    _add_operations(app)
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

        Without its records nothing can be served: that is a 503, with the same body.
        """
        found = answers.Readiness.of(await request.app.state.opening.health())
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
        return HTMLResponse(pages.home(await jay.stats(), url=str(request.base_url).rstrip("/")))

    @app.get("/docs", include_in_schema=False)
    async def docs() -> HTMLResponse:
        return HTMLResponse(pages.reference(app.openapi()))


def _describe_problems(app: FastAPI) -> None:
    """Put the shape of a problem into the OpenAPI document, where every route refers to it."""
    document = app.openapi()
    schema = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    document["components"]["schemas"] |= {**schema.pop("$defs"), "Problem": schema}
