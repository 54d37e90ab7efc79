"""Traces for OpenTelemetry: a span for each stage, below the one of the request that it is part of."""

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from scrubjay.errors import Misconfigured
from scrubjay.ports import Stage

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import TracerProvider

PREFIX: Final = "scrubjay."
_HTTP: Final[Mapping[str, str]] = {
    "method": "http.request.method",
    "route": "http.route",
    "status": "http.response.status_code",
}
"""Attributes that have a name that every tool knows."""

_PARTS: Final = frozenset({"embed", "hydrate", "index", "meaning", "rerank", "reread", "retrieve", "store", "words"})
"""Stages that are parts of others. By itself, one is a look around in the background, and no trace begins with it."""

_CARRIED: Final = ("traceparent", "tracestate")
SEND_SECONDS: Final = 5.0

MOST_NAMED: Final = 100
"""Ids, or other words, in one attribute."""


def provider() -> "TracerProvider":
    """A provider that sends spans as the standard OTEL_ variables say. Raises Misconfigured without the extra."""
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415  # an extra
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415  # the same
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415  # the same
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415  # the same
    except ModuleNotFoundError as error:
        raise Misconfigured(
            f"SCRUBJAY_TRACING needs {error.name}, which is not installed: pip install 'scrubjay[otel]'"
        ) from error
    resource = Resource.create()
    if str(resource.attributes["service.name"]).startswith("unknown_service"):
        # Neither OTEL_SERVICE_NAME nor OTEL_RESOURCE_ATTRIBUTES says what it is called.
        resource = resource.merge(Resource({"service.name": "scrubjay"}))
    made = TracerProvider(resource=resource)
    made.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return made


class Traces:
    """Makes spans of stages. What they carry are ids, counts and kinds of error."""

    def __init__(self, provider: "TracerProvider") -> None:
        self._provider = provider
        self._tracer = provider.get_tracer("scrubjay")

    def began(self, stage: Stage) -> object:
        """Open a span below the one that is open here, or below the caller's for a request that names it."""
        from opentelemetry import context, trace  # noqa: PLC0415  # whoever made the provider has imported it

        if stage.name in _PARTS and not trace.get_current_span().get_span_context().is_valid:
            return None
        is_request = stage.name == "request"
        span = self._tracer.start_span(
            stage.name if is_request else f"{PREFIX}{stage.name}",
            context=_parent(stage) if is_request else None,
            kind=trace.SpanKind.SERVER if is_request else trace.SpanKind.INTERNAL,
        )
        return span, context.attach(trace.set_span_in_context(span))

    def ended(self, stage: Stage, state: object) -> None:
        """Close it, with what is known now."""
        from opentelemetry import context, trace  # noqa: PLC0415  # as above

        if not isinstance(state, tuple):
            return
        span, token = state
        context.detach(token)
        for name, value in stage.facts.items():
            if name in _CARRIED or value is None:
                continue
            named = list(value)[:MOST_NAMED] if isinstance(value, list | tuple) else value
            span.set_attribute(_HTTP.get(name, f"{PREFIX}{name}"), named)
        status = stage.facts.get("status")
        if stage.name == "request":
            span.update_name(f"{stage.facts.get('method')} {stage.facts.get('route')}")
        if stage.error or (isinstance(status, int) and status >= 500):
            # Its kind and not its message, which may quote a memory.
            span.set_attribute("error.type", stage.error or str(status))
            span.set_status(trace.StatusCode.ERROR, stage.error or None)
        span.end()

    def shut(self) -> None:
        """Send what waits to be sent, as far as a collector takes it within a few seconds."""
        # The library tries for as long as it takes, and a service that is told to stop has to end.
        sending = threading.Thread(target=self._provider.shutdown, name="scrubjay-traces", daemon=True)
        sending.start()
        sending.join(SEND_SECONDS)


def _parent(stage: Stage) -> "Context | None":
    """The span that the caller of a request is in, if it says so the W3C's way."""
    from opentelemetry.trace.propagation.tracecontext import (  # noqa: PLC0415  # as above
        TraceContextTextMapPropagator,
    )

    carried = {name: str(stage.facts[name]) for name in _CARRIED if stage.facts.get(name)}
    return TraceContextTextMapPropagator().extract(carried) if carried else None
