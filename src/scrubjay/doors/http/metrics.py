"""GET /metrics: what Prometheus scrapes."""

import asyncio
from contextlib import suppress
from typing import Final

from fastapi import FastAPI, Request, Response

from scrubjay import __version__
from scrubjay.doors.http.access import sees_details
from scrubjay.doors.http.opening import Opening
from scrubjay.doors.http.problems import RESPONSES
from scrubjay.errors import Misconfigured, Unavailable
from scrubjay.wiring.telemetry import Telemetry

STATUS_SECONDS: Final = 5.0
"""How long the records may take to say what waits: Prometheus itself waits for ten."""


class MetricsResponse(Response):
    """Metrics in the text format of Prometheus."""

    media_type = "text/plain; version=0.0.4; charset=utf-8"


def add_metrics(app: FastAPI, telemetry: Telemetry) -> None:
    """Add the route. It asks every store, as /readyz does, and answers also when some are down."""

    @app.get(
        "/metrics",
        tags=["operations"],
        summary="What is counted?",
        responses={
            **RESPONSES,
            200: {"description": "Metrics, as Prometheus reads them.", "content": {"text/plain": {}}},
        },
        response_class=MetricsResponse,
    )
    async def metrics(request: Request) -> MetricsResponse:
        """Say what was counted since the service started, over all its processes, and how the stores are doing.

        What names tenants, if that was asked for, needs an admin key of the installation's own tenant.
        """
        opening: Opening = request.app.state.opening
        health, numbers = await asyncio.gather(opening.health(), _numbers(opening))
        written = telemetry.metrics(
            health, numbers, version=__version__, is_open=opening.is_open, names_tenants=await sees_details(request)
        )
        return MetricsResponse(written)


async def _numbers(opening: Opening) -> dict[str, float]:
    """What waits, and how the work goes. Nothing while the records are away: `scrubjay_store_up` says why."""
    if opening.is_open:
        with suppress(Unavailable, Misconfigured, TimeoutError):
            async with asyncio.timeout(STATUS_SECONDS):
                return (await opening.jay.work.status()).metrics()
    return {}
