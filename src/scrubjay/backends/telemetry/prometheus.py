"""Prometheus: counts what happens, and writes it down for whoever scrapes, over all processes of one service."""

from collections import Counter as Tally
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, TypeAlias

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector

from scrubjay.backends.telemetry.metrics import ASKED, COUNTED, Declared
from scrubjay.model import DEFAULT_KIND, Health
from scrubjay.model.context import ABOUT_MEMORIES, KINDS_OF_SECTION
from scrubjay.ports import Stage
from scrubjay.ports.telemetry import LISTEN

OTHER: Final = "other"
KNOWN_KINDS: Final = frozenset({DEFAULT_KIND, *ABOUT_MEMORIES}.union(*KINDS_OF_SECTION.values()))
"""Kinds that are labels. Anybody may make up others, and a label must not grow without end."""

MOST_TENANTS: Final = 1_000
OTHER_TENANTS: Final = "(others)"
"""Tenants that are told apart, and the label of all others: each takes some 30 series, here and where they go."""

Counted: TypeAlias = Counter | Histogram | Gauge

_METHODS: Final = frozenset({"GET", "POST", "PATCH", "PUT", "DELETE", "HEAD", "OPTIONS"})
_OPERATIONS: Final = frozenset({"remember", "recall", "context", "forget", "append"})
_STAGES: Final = frozenset({"retrieve", "hydrate", "rerank", "reread", "words", "meaning", "index", "embed"})


class Prometheus:
    """Counts stages. With a folder, processes that were started with the same one count together.

    The folder has to be in PROMETHEUS_MULTIPROC_DIR before this module is imported: the library looks there.
    """

    def __init__(self, *, of_tenants: bool = False, folder: Path | None = None) -> None:
        # They double the series, and say when this process started.
        disable_created_metrics()  # type: ignore[no-untyped-call]  # the library has no types there
        self._of_tenants = of_tenants
        self._folder = folder
        self._registry = CollectorRegistry()
        self._labels: dict[tuple[str, ...], Counted] = {}
        self._tenants: set[str] = set()
        self._made = {declared.name: self._make(declared) for declared in COUNTED}
        self._counting: Mapping[str, Callable[[Stage], None]] = {
            "request": self._count_request,
            "remember": self._count_writes,
            "recall": self._count_hits,
            "context": self._count_degraded,
            "forget": self._count_forgotten,
            "append": self._count_messages,
            "embed": self._count_vectors,
            "store": self._count_store,
            "consolidate": self._count_step,
        }

    def _make(self, declared: Declared) -> Counted:
        labels = (*declared.labels, *(("tenant",) if declared.of_tenant and self._of_tenants else ()))
        match declared.kind:
            case "counter":
                return Counter(declared.name, declared.tells, labels, registry=self._registry)
            case "histogram":
                buckets = declared.buckets
                return Histogram(declared.name, declared.tells, labels, registry=self._registry, buckets=buckets)
            case "gauge":
                return Gauge(declared.name, declared.tells, registry=self._registry, multiprocess_mode="livesum")

    # Watching

    def began(self, stage: Stage) -> None:
        """Count a request that is under way."""
        if stage.name == "request":
            self._move("scrubjay_http_requests_in_flight", 1)

    def ended(self, stage: Stage, state: object) -> None:  # noqa: ARG002 -- the port's
        """Count it."""
        if stage.name in _STAGES:
            self._time("scrubjay_stage_seconds", stage.seconds, stage=stage.name)
        if stage.name in _OPERATIONS:
            outcome = "failed" if stage.error else "done"
            self._time("scrubjay_operation_seconds", stage.seconds, stage, operation=stage.name, outcome=outcome)
        if (count := self._counting.get(stage.name)) is not None:
            count(stage)

    def _count_request(self, stage: Stage) -> None:
        self._move("scrubjay_http_requests_in_flight", -1)
        # A method is the caller's word, and one that nobody knows must not become a label.
        asked = str(stage.facts.get("method"))
        method, route = asked if asked in _METHODS else OTHER, str(stage.facts.get("route"))
        self._time("scrubjay_http_request_seconds", stage.seconds, method=method, route=route)
        status = str(stage.facts.get("status"))
        self._add("scrubjay_http_requests_total", 1, method=method, route=route, status=status)
        if stage.facts.get("is_shed"):
            self._add("scrubjay_http_requests_shed_total", 1)

    def _count_writes(self, stage: Stage) -> None:
        pairs = zip(_words(stage, "kinds"), _words(stage, "outcomes"), strict=True)
        for (kind, outcome), number in Tally((_label(kind), outcome) for kind, outcome in pairs).items():
            self._add("scrubjay_memories_written_total", number, stage, kind=kind, outcome=outcome)

    def _count_hits(self, stage: Stage) -> None:
        self._count_degraded(stage)
        kinds = _words(stage, "kinds")
        for kind, number in Tally(map(_label, kinds)).items():
            self._add("scrubjay_recall_hits_total", number, stage, kind=kind)
        if not kinds and not stage.error:
            self._add("scrubjay_recall_empty_total", 1, stage)
        for name in ("score", "similarity"):
            if isinstance(value := stage.facts.get(name), float):
                self._time(f"scrubjay_recall_{name}", value)

    def _count_degraded(self, stage: Stage) -> None:
        for part in _words(stage, "degraded"):
            self._add("scrubjay_recall_degraded_total", 1, stage, part=part)

    def _count_store(self, stage: Stage) -> None:
        store, operation = str(stage.facts["store"]), str(stage.facts["operation"])
        if operation == LISTEN:
            return
        self._time("scrubjay_store_seconds", stage.seconds, store=store, operation=operation)
        if stage.error:
            self._add("scrubjay_store_errors_total", 1, store=store, error=stage.error)

    def _count_forgotten(self, stage: Stage) -> None:
        how = "purged" if stage.facts.get("purge") else "closed"
        self._add("scrubjay_memories_forgotten_total", stage.facts.get("memories"), stage, how=how)

    def _count_messages(self, stage: Stage) -> None:
        if not stage.error:
            self._add("scrubjay_messages_appended_total", stage.facts.get("messages"), stage)

    def _count_vectors(self, stage: Stage) -> None:
        for origin in ("remembered", "shared", "embedded"):
            self._add("scrubjay_embeddings_total", stage.facts.get(origin), origin=origin)

    def _count_step(self, stage: Stage) -> None:
        step, outcome = str(stage.facts["step"]), str(stage.facts.get("outcome", "failed"))
        self._time("scrubjay_consolidation_seconds", stage.seconds, step=step, outcome=outcome)
        for outcome in ("done", "failed"):
            self._add("scrubjay_consolidation_done_total", stage.facts.get(outcome), step=step, outcome=outcome)

    def _add(self, name: str, number: object, of: Stage | None = None, /, **labels: str) -> None:
        counter = self._labelled(name, of, labels)
        if isinstance(counter, Counter) and isinstance(number, int):
            counter.inc(number)

    def _time(self, name: str, value: float, of: Stage | None = None, /, **labels: str) -> None:
        histogram = self._labelled(name, of, labels)
        if isinstance(histogram, Histogram):
            histogram.observe(value)

    def _move(self, name: str, number: int) -> None:
        gauge = self._made[name]
        if isinstance(gauge, Gauge):
            gauge.inc(number)

    def _labelled(self, name: str, of: Stage | None, labels: dict[str, str]) -> Counted:
        """The metric with these labels. What is of a stage is of its tenant, where tenants are told apart."""
        if self._of_tenants and of is not None:
            labels["tenant"] = self._tenant(str(of.facts.get("tenant") or ""))
        if not labels:
            return self._made[name]
        # The library takes its time to find one, and a call always names its labels in the same order.
        key = (name, *labels.values())
        if (known := self._labels.get(key)) is None:
            known = self._labels[key] = self._made[name].labels(**labels)
        return known

    def _tenant(self, name: str) -> str:
        """The tenant as a label; of very many, those that came first."""
        if name not in self._tenants:
            if len(self._tenants) >= MOST_TENANTS:
                return OTHER_TENANTS
            self._tenants.add(name)
        return name

    # Telling

    def written(self, asked: Iterable[Metric], *, names_tenants: bool = True) -> bytes:
        """Everything as Prometheus reads it: what was counted, and what was just asked of the stores."""
        registry = CollectorRegistry()
        if self._folder is None:
            counted: Iterable[Metric] = self._registry.collect()
        else:
            counted = MultiProcessCollector(None, path=str(self._folder)).collect()  # type: ignore[no-untyped-call]  # the library has no types there
        found = [*counted, *asked]
        if not names_tenants:
            for metric in found:
                metric.samples = [one for one in metric.samples if "tenant" not in one.labels]
        registry.register(_Collected(found))
        return generate_latest(registry)


class _Collected:
    """What was gathered already, in the shape that the library takes."""

    def __init__(self, metrics: list[Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> Iterator[Metric]:
        return iter(self._metrics)


def asked_metrics(health: Health, numbers: Mapping[str, float], *, version: str, is_open: bool) -> list[Metric]:
    """What the stores and the work log say, as metrics. What is not known is left out."""
    known: dict[str, list[tuple[list[str], float]]] = {
        "scrubjay_build_info": [([version], 1.0)],
        "scrubjay_open": [([], float(is_open))],
        "scrubjay_store_up": [
            ([part], float(store.state in ("up", "incomplete"))) for part, store in health.stores.items()
        ],
        "scrubjay_store_ping_seconds": [
            ([part], store.milliseconds / 1000)
            for part, store in health.stores.items()
            if store.milliseconds is not None
        ],
        **{name: [([], value)] for name, value in numbers.items()},
    }
    found: list[Metric] = []
    for declared in ASKED:
        if samples := known.get(declared.name):
            family = CounterMetricFamily if declared.kind == "counter" else GaugeMetricFamily
            metric = family(declared.name, declared.tells, labels=declared.labels)
            for labels, value in samples:
                metric.add_metric(labels, value)
            found.append(metric)
    return found


def _label(kind: str) -> str:
    return kind if kind in KNOWN_KINDS else OTHER


def _words(stage: Stage, name: str) -> list[str]:
    words = stage.facts.get(name)
    return list(words) if isinstance(words, list | tuple) else []
