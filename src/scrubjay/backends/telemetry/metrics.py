"""The metrics that Scrubjay exports: their names, what they mean, and how they are told apart.

The tenant is a label only where somebody asked for it: a service may have many thousands of them.
"""

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from scrubjay.model.work import STEPS

Kind: TypeAlias = Literal["counter", "gauge", "histogram"]

SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
LONG_SECONDS: Final = (0.01, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 1800.0)
FRACTIONS: Final = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """One metric: its name, its kind, what it tells, and its labels."""

    name: str
    kind: Kind
    tells: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = SECONDS
    of_tenant: bool = False
    """Whether SCRUBJAY_METRICS_TENANT adds the tenant to its labels."""


COUNTED: Final = (
    Declared(
        name="scrubjay_http_requests_total",
        kind="counter",
        tells="Requests that were answered. The route is its template, or `unmatched` when none was reached.",
        labels=("method", "route", "status"),
    ),
    Declared(
        name="scrubjay_http_request_seconds",
        kind="histogram",
        tells="How long requests took, from their first byte to the last of the answer.",
        labels=("method", "route"),
    ),
    Declared(
        name="scrubjay_http_requests_shed_total",
        kind="counter",
        tells="Requests that were refused at once, because they would have had to wait for too long.",
    ),
    Declared(name="scrubjay_http_requests_in_flight", kind="gauge", tells="Requests that are being answered."),
    Declared(
        name="scrubjay_operation_seconds",
        kind="histogram",
        tells="How long remember, recall, context, forget and append took, at whichever door or job.",
        labels=("operation", "outcome"),
        of_tenant=True,
    ),
    Declared(
        name="scrubjay_memories_written_total",
        kind="counter",
        tells="Memories that were told: stored, superseding another one, or unchanged because they were known.",
        labels=("kind", "outcome"),
        of_tenant=True,
    ),
    Declared(
        name="scrubjay_memories_forgotten_total",
        kind="counter",
        tells="Memories that were closed, or purged.",
        labels=("how",),
        of_tenant=True,
    ),
    Declared(
        name="scrubjay_messages_appended_total",
        kind="counter",
        tells="Messages that were put into working memory.",
        of_tenant=True,
    ),
    Declared(
        name="scrubjay_recall_hits_total",
        kind="counter",
        tells="Memories that recalls have found.",
        labels=("kind",),
        of_tenant=True,
    ),
    Declared(name="scrubjay_recall_empty_total", kind="counter", tells="Recalls that found nothing.", of_tenant=True),
    Declared(
        name="scrubjay_recall_degraded_total",
        kind="counter",
        tells="Recalls and contexts in which a part could not take part.",
        labels=("part",),
        of_tenant=True,
    ),
    Declared(
        name="scrubjay_recall_score",
        kind="histogram",
        tells="The score of the best hit of each recall, from 0 to 1.",
        buckets=FRACTIONS,
    ),
    Declared(
        name="scrubjay_recall_similarity",
        kind="histogram",
        tells="The greatest calibrated similarity among the hits of each recall, from 0 to 1.",
        buckets=FRACTIONS,
    ),
    Declared(
        name="scrubjay_stage_seconds",
        kind="histogram",
        tells="How long the stages of reading and writing took.",
        labels=("stage",),
    ),
    Declared(
        name="scrubjay_store_seconds",
        kind="histogram",
        tells="How long calls of the record store, the vector server and Redis took.",
        labels=("store", "operation"),
    ),
    Declared(
        name="scrubjay_store_errors_total",
        kind="counter",
        tells="Calls of a store that ended with an error, by its kind.",
        labels=("store", "error"),
    ),
    Declared(
        name="scrubjay_embeddings_total",
        kind="counter",
        tells="Vectors that were asked for: remembered by the cache, shared by another process, or embedded now.",
        labels=("origin",),
    ),
    Declared(
        name="scrubjay_consolidation_seconds",
        kind="histogram",
        tells="How long the steps of consolidation took in this service.",
        labels=("step", "outcome"),
        buckets=LONG_SECONDS,
    ),
    Declared(
        name="scrubjay_consolidation_done_total",
        kind="counter",
        tells="What the steps of consolidation dealt with in this service, well or not.",
        labels=("step", "outcome"),
    ),
)
"""Counted as things happen, over all processes of one service."""

ASKED: Final = (
    Declared(
        name="scrubjay_build_info", kind="gauge", tells="Always 1; the label is the version.", labels=("version",)
    ),
    Declared(
        name="scrubjay_open", kind="gauge", tells="1 when the memory is open, 0 while its database is waited for."
    ),
    Declared(
        name="scrubjay_store_up",
        kind="gauge",
        tells="1 when the store or model answers, 0 when not.",
        labels=("store",),
    ),
    Declared(
        name="scrubjay_store_ping_seconds",
        kind="gauge",
        tells="How long the store or model took to answer a moment ago.",
        labels=("store",),
    ),
    Declared(
        name="scrubjay_work_lag_seconds",
        kind="gauge",
        tells="How long the session that has waited longest to be drained is over already.",
    ),
    Declared(name="scrubjay_work_sessions_waiting", kind="gauge", tells="Sessions that wait to be drained."),
    Declared(name="scrubjay_work_messages_waiting", kind="gauge", tells="Messages in these sessions."),
    Declared(name="scrubjay_work_sessions_undistilled", kind="gauge", tells="Sessions that wait to be distilled."),
    Declared(name="scrubjay_work_memories_pending", kind="gauge", tells="Memories that wait to be indexed by meaning."),
    Declared(name="scrubjay_work_failing", kind="gauge", tells="Things that failed and will be tried again."),
    Declared(name="scrubjay_work_parked", kind="gauge", tells="Things that failed too often and wait for a person."),
    Declared(name="scrubjay_work_workers", kind="gauge", tells="Workers that have taken something at this moment."),
    *(
        declared
        for step in STEPS
        for declared in (
            Declared(name=f"scrubjay_work_{step}_runs_total", kind="counter", tells=f"Runs of {step}, by any worker."),
            Declared(name=f"scrubjay_work_{step}_failures_total", kind="counter", tells=f"Runs of {step} that failed."),
            Declared(name=f"scrubjay_work_{step}_done_total", kind="counter", tells=f"What {step} has dealt with."),
            Declared(name=f"scrubjay_work_{step}_seconds", kind="gauge", tells=f"How long {step} took the last time."),
            Declared(
                name=f"scrubjay_work_{step}_seconds_since_success",
                kind="gauge",
                tells=f"How long ago {step} last went well; absent before it ever did.",
            ),
        )
    ),
)
"""Asked of the stores when somebody looks. They are the same whichever process answers."""
