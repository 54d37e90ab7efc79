"""Settings become watchers: metrics, traces, and a log of what was done, for a process that serves."""

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from scrubjay.model import Health
from scrubjay.ports import Stage, stage, watch
from scrubjay.ports.telemetry import Fact
from scrubjay.settings import Settings


class Telemetry:
    """What watches a service. With a folder, its processes count together: see `count_in`."""

    def __init__(self, settings: Settings, *, folder: Path | None = None) -> None:
        from scrubjay.backends.telemetry.operations import OPERATIONS
        from scrubjay.backends.telemetry.prometheus import Prometheus

        self._settings = settings
        self._prometheus = Prometheus(of_tenants=settings.metrics_tenant, folder=folder)
        self._operations = OPERATIONS

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch this process meanwhile. Spans that wait are sent at the end. Raises Misconfigured without the extra."""
        with ExitStack() as ending:
            if self._settings.tracing:
                from scrubjay.backends.telemetry.traces import Traces, provider

                traces = Traces(provider())
                ending.callback(traces.shut)
                ending.callback(watch(traces))
            ending.callback(watch(self._prometheus))
            ending.callback(watch(self._operations))
            yield

    def request(self, **facts: Fact) -> Stage:
        """A request, from its first byte to the last of its answer."""
        return stage("request", **facts)

    def metrics(
        self, health: Health, numbers: Mapping[str, float], *, version: str, is_open: bool, names_tenants: bool = True
    ) -> bytes:
        """Everything that was counted, and what the stores say now, as Prometheus reads it.

        Without `names_tenants`, what is counted for each tenant is left out.
        """
        from scrubjay.backends.telemetry.prometheus import asked_metrics

        asked = asked_metrics(health, numbers, version=version, is_open=is_open)
        return self._prometheus.written(asked, names_tenants=names_tenants)


def count_in(folder: Path) -> None:
    """Let this process count in files of a folder that others count in, too.

    Call it before anything else: the library that counts looks for the folder when it is imported, and only there.
    """
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(folder)


def has_ended(folder: Path, process: int) -> None:
    """Say that one of those who count in this folder has ended: what it had under way is nobody's any more."""
    for left in folder.glob(f"gauge_live*_{process}.db"):
        left.unlink(missing_ok=True)
