"""What is told to those who watch, and what they make of it."""

import asyncio
import logging

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client.parser import text_string_to_metric_families

import scrubjay
from scrubjay.backends.telemetry.metrics import ASKED, COUNTED
from scrubjay.backends.telemetry.operations import MOST_IDS, OperationsLog
from scrubjay.backends.telemetry.prometheus import KNOWN_KINDS, Prometheus, asked_metrics
from scrubjay.backends.telemetry.traces import Traces
from scrubjay.errors import NotFound
from scrubjay.logs import FIELDS, logger
from scrubjay.model import Health, StoreHealth
from scrubjay.model.work import STEPS, Run, WorkStatus
from scrubjay.ports import Stage, stage, telemetry, watch
from scrubjay.testing import Ticking


class Notebook:
    """A watcher that writes everything down."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.stages: list[Stage] = []

    def began(self, stage: Stage) -> str:
        self.lines.append(f"{stage.name} began")
        return stage.name

    def ended(self, stage: Stage, state: object) -> None:
        assert state == stage.name
        self.lines.append(f"{stage.name} ended {stage.error}".rstrip())
        self.stages.append(stage)


@pytest.fixture(autouse=True)
def _unwatched(monkeypatch):
    """A service that other tests keep open in this process watches, too."""
    monkeypatch.setattr(telemetry, "_let_in", [])
    monkeypatch.setattr(telemetry, "_watchers", ())


@pytest.fixture
def watched():
    """Lets somebody watch for the rest of the test."""
    stops = []

    def begin(watcher):
        stops.append(watch(watcher))
        return watcher

    yield begin
    for stop in stops:
        stop()


def values(prometheus: Prometheus, *asked) -> dict[tuple[str, ...], float]:
    """Every sample by its name and the values of its labels, sorted; buckets are left out."""
    text = prometheus.written(asked).decode()
    return {
        (one.name, *(one.labels[name] for name in sorted(one.labels))): one.value
        for family in text_string_to_metric_families(text)
        for one in family.samples
        if not one.name.endswith("_bucket")
    }


# Stages


def test_a_stage_that_nobody_watches_keeps_nothing():
    with stage("recall", tenant="t") as one:
        one.note(ids=["a"])
    assert not one.is_watched
    assert one.facts == {}
    assert stage("other") is one


def test_stages_nest_and_say_what_ended_them(watched):
    notebook = watched(Notebook())

    def recall() -> None:
        with stage("recall", tenant="t") as outer:
            with stage("retrieve"):
                pass
            outer.note(hits=3)
            raise NotFound("the text of a memory")

    with pytest.raises(NotFound):
        recall()
    assert notebook.lines == ["recall began", "retrieve began", "retrieve ended", "recall ended NotFound"]
    assert notebook.stages[-1].facts == {"tenant": "t", "hits": 3}
    assert notebook.stages[-1].seconds >= notebook.stages[0].seconds > 0


def test_who_stops_is_told_nothing_more():
    first, second = Notebook(), Notebook()
    stop_first, stop_second = watch(first), watch(second)
    with stage("one"):
        stop_first()  # In the middle: what it saw begin, it sees end.
        stop_first()
    with stage("two"):
        pass
    stop_second()
    assert first.lines == ["one began", "one ended"]
    assert second.lines == ["one began", "one ended", "two began", "two ended"]
    assert not stage("three").is_watched


async def test_what_a_memory_does_is_told_without_its_content(watched, tmp_path):
    notebook = watched(Notebook())
    async with scrubjay.open_async(tmp_path, embedder="static", background=False) as jay:
        for value in ("tabs", "spaces"):
            await jay.remember(value, user="other", key="indent")
        told = await jay.remember("The canary sings at dawn", user="u", kind="fact")
        await jay.recall("when does the canary sing?", user="u")
        await jay.context("canary", user="u")
        await jay.working.append("The canary is hungry", user="u", session="s")
        await jay.forget(told.memory.id, user="u")
        await jay.consolidate(steps=["expire"])
    seen = {one.name: one for one in notebook.stages}
    assert {"remember", "index", "embed", "store", "recall", "retrieve", "words", "meaning", "hydrate", "rerank",
            "context", "append", "forget", "consolidate"} <= seen.keys()  # fmt: skip
    assert seen["remember"].facts["outcomes"] == ["stored"]
    assert seen["recall"].facts["ids"] == [str(told.memory.id)]
    assert seen["recall"].facts["kinds"] == ["fact"]
    assert 0 < seen["recall"].facts["score"] <= 1
    assert 0 < seen["recall"].facts["similarity"] <= 1
    assert seen["forget"].facts == {"tenant": "default", "purge": False, "memories": 1}
    assert seen["consolidate"].facts["outcome"] == "done"
    assert "canary" not in repr([one.facts for one in notebook.stages]).lower()


async def test_a_question_asked_again_is_remembered(watched, tmp_path):
    notebook = watched(Notebook())
    async with scrubjay.open_async(tmp_path, embedder="static", background=False) as jay:
        await jay.remember("A first thing")
        await jay.recall("which thing?")
        await jay.recall("which thing?")
    asked = [one.facts for one in notebook.stages if one.name == "embed" and one.facts["question"]]
    assert [(one["remembered"], one["embedded"]) for one in asked] == [(0, 1), (1, 0)]


# Metrics


def test_what_happens_is_counted(watched):
    prometheus = watched(Prometheus())
    with stage("request", method="POST") as request:
        assert values(prometheus)[("scrubjay_http_requests_in_flight",)] == 1
        request.note(route="/v1/memory", status=201)
    with stage("remember", tenant="t") as remembering:
        remembering.note(kinds=["fact", "fact", "made_up"], outcomes=["stored", "unchanged", "stored"])
    with stage("recall", tenant="t") as recalling:
        recalling.note(kinds=["fact", "fact"], score=0.65, similarity=0.4, degraded=("vectors",))
    with stage("recall", tenant="t") as recalling:
        recalling.note(kinds=[], score=None, similarity=None, degraded=())
    with stage("forget", tenant="t", purge=True, memories=3):
        pass
    with stage("append", tenant="t", messages=2):
        pass
    with stage("embed") as embedding:
        embedding.note(remembered=3, shared=2, embedded=1)
    with pytest.raises(NotFound), stage("store", store="records", operation="read"):
        raise NotFound
    with stage("consolidate", step="drain") as step:
        step.note(outcome="done", done=5, failed=1)
    found = values(prometheus)
    assert found[("scrubjay_http_requests_in_flight",)] == 0
    assert found[("scrubjay_http_requests_total", "POST", "/v1/memory", "201")] == 1
    assert found[("scrubjay_http_request_seconds_count", "POST", "/v1/memory")] == 1
    assert found[("scrubjay_memories_written_total", "fact", "stored")] == 1
    assert found[("scrubjay_memories_written_total", "fact", "unchanged")] == 1
    assert found[("scrubjay_memories_written_total", "other", "stored")] == 1
    assert found[("scrubjay_operation_seconds_count", "recall", "done")] == 2
    assert found[("scrubjay_recall_hits_total", "fact")] == 2
    assert found[("scrubjay_recall_empty_total",)] == 1
    assert found[("scrubjay_recall_degraded_total", "vectors")] == 1
    assert found[("scrubjay_recall_score_sum",)] == 0.65
    assert found[("scrubjay_recall_similarity_count",)] == 1
    assert found[("scrubjay_memories_forgotten_total", "purged")] == 3
    assert found[("scrubjay_messages_appended_total",)] == 2
    assert [found[("scrubjay_embeddings_total", one)] for one in ("remembered", "shared", "embedded")] == [3, 2, 1]
    assert found[("scrubjay_store_errors_total", "NotFound", "records")] == 1
    assert found[("scrubjay_consolidation_done_total", "done", "drain")] == 5
    assert found[("scrubjay_consolidation_done_total", "failed", "drain")] == 1
    assert not any("_created" in name for name, *_ in found)


def test_a_label_cannot_grow_without_end(watched):
    prometheus = watched(Prometheus())
    with stage("remember", tenant="t") as remembering:
        remembering.note(kinds=[f"kind_{number}" for number in range(1_000)], outcomes=["stored"] * 1_000)
    for method in ("BREW", "SPLIT"):
        with stage("request", method=method) as request:
            request.note(route="unmatched", status=405)
    found = values(prometheus)
    assert found[("scrubjay_memories_written_total", "other", "stored")] == 1_000
    assert found[("scrubjay_http_requests_total", "other", "unmatched", "405")] == 2
    assert {"note", "fact", "message", "task", "pattern", "completion", "preference", "summary"} <= KNOWN_KINDS


def test_tenants_are_told_apart_only_when_asked(watched):
    without, apart = watched(Prometheus()), watched(Prometheus(of_tenants=True))
    for tenant in ("acme", "zeta"):
        with stage("recall", tenant=tenant) as recalling:
            recalling.note(kinds=["fact"], degraded=())
    assert values(without)[("scrubjay_recall_hits_total", "fact")] == 2
    assert "acme" not in without.written([]).decode()
    assert values(apart)[("scrubjay_recall_hits_total", "fact", "acme")] == 1
    assert values(apart)[("scrubjay_operation_seconds_count", "recall", "done", "zeta")] == 1


def test_what_the_stores_say_is_exported():
    up, down = StoreHealth(name="r", state="up", milliseconds=2.0), StoreHealth(name="q", state="down", error="gone")
    health = Health(stores={"records": up, "vectors": down}, pending=3)
    status = WorkStatus(
        at=Ticking()(), steps=tuple(Run(step=step, runs=2, total=7) for step in STEPS), sessions=1, messages=4,
        lag=None, undistilled=0, pending=3, failing=0, parked=1,
    )  # fmt: skip
    asked = asked_metrics(health, status.metrics(), version="9.9", is_open=True)
    found = values(Prometheus(), *asked)
    assert found[("scrubjay_store_up", "records")] == 1
    assert found[("scrubjay_store_up", "vectors")] == 0
    assert found[("scrubjay_store_ping_seconds", "records")] == 0.002
    assert ("scrubjay_store_ping_seconds", "vectors") not in found
    assert found[("scrubjay_build_info", "9.9")] == 1
    assert found[("scrubjay_work_memories_pending",)] == 3
    assert found[("scrubjay_work_drain_done_total",)] == 7
    assert ("scrubjay_work_lag_seconds",) not in found


def test_every_number_of_a_work_status_is_declared():
    now = Ticking()()
    status = WorkStatus(
        at=now, steps=tuple(Run(step=step, succeeded_at=now) for step in STEPS), sessions=0, messages=0, lag=now - now,
        undistilled=0, pending=0, failing=0, parked=0,
    )  # fmt: skip
    assert status.metrics().keys() <= {one.name for one in ASKED}
    names = [one.name for one in (*ASKED, *COUNTED)]
    assert len(names) == len(set(names))
    assert all(name.startswith("scrubjay_") for name in names)


# The log


def test_a_line_for_each_verb_with_its_stores(watched, caplog):
    watched(OperationsLog())
    with caplog.at_level(logging.INFO, logger="scrubjay.operations"), stage("request", method="POST") as request:
        with stage("recall", tenant="t") as recalling:
            with stage("store", store="records", operation="read"):
                pass
            recalling.note(ids=["a", "b"], kinds=["fact"], score=0.5, degraded=())
        request.note(route="/v1/memory/recall", status=200)
    recall, request = [getattr(record, FIELDS) for record in caplog.records]
    assert recall["event"] == "recall"
    assert (recall["tenant"], recall["ids"]) == ("t", ["a", "b"])
    assert recall["records_ms"] >= 0
    assert recall["ms"] >= recall["records_ms"]
    assert "degraded" not in recall
    assert (request["route"], request["status"]) == ("/v1/memory/recall", 200)
    assert request["records_ms"] == recall["records_ms"]


async def test_stores_are_counted_for_the_verb_that_asked_them(watched, caplog):
    watched(OperationsLog())

    async def verb(name: str, calls: int) -> None:
        with stage("recall", tenant=name):
            for _ in range(calls):
                with stage("store", store=name, operation="read"):
                    await asyncio.sleep(0)

    with caplog.at_level(logging.INFO, logger="scrubjay.operations"):
        await asyncio.gather(verb("one", 2), verb("other", 3))
    lines = [getattr(record, FIELDS) for record in caplog.records]
    assert [{name for name in line if name.endswith("_ms")} for line in lines] == [{"one_ms"}, {"other_ms"}]


def test_a_long_list_of_ids_is_cut_and_counted(watched, caplog):
    watched(OperationsLog())
    with caplog.at_level(logging.INFO, logger="scrubjay.operations"), stage("remember", tenant="t") as remembering:
        remembering.note(ids=[str(number) for number in range(500)])
    [line] = [getattr(record, FIELDS) for record in caplog.records]
    assert len(line["ids"]) == MOST_IDS
    assert line["memories"] == 500


@pytest.mark.parametrize(
    ("facts", "level"),
    [
        ({"outcome": "done", "done": 0, "failed": 0}, None),
        ({"outcome": "skipped", "done": 0, "failed": 0}, None),
        ({"outcome": "done", "done": 2, "failed": 0}, "INFO"),
        ({"outcome": "failed", "done": 0, "failed": 0}, "WARNING"),
    ],
)
def test_a_step_is_logged_when_it_did_something(watched, caplog, facts, level):
    watched(OperationsLog())
    with caplog.at_level(logging.INFO, logger="scrubjay.operations"), stage("consolidate", step="drain") as step:
        step.note(**facts)
    assert [record.levelname for record in caplog.records] == ([level] if level else [])


def test_a_traceback_has_no_messages(caplog):
    words = ["the", "canary"]  # The lines of the source are in a traceback, so they must not hold it themselves.

    def fail() -> None:
        try:
            int(" ".join(words))
        except ValueError as error:
            raise KeyError(" ".join(words)) from error

    with caplog.at_level(logging.INFO, logger="scrubjay.tried"):
        try:
            fail()
        except KeyError:
            logger("tried").warning("it failed", exc_info=True)
    assert "the canary" not in caplog.text
    [record] = caplog.records
    assert getattr(record, FIELDS)["exception"].splitlines()[-1] == "KeyError"
    assert "ValueError" in getattr(record, FIELDS)["exception"]
    assert "test_telemetry.py" in caplog.text


# Traces


@pytest.fixture
def spans(watched):
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    watched(Traces(provider))
    return exporter


async def test_spans_are_nested_as_the_work_is(spans, tmp_path):
    async with scrubjay.open_async(tmp_path, embedder="static", background=False) as jay:
        await jay.remember("The canary sings at dawn")
        spans.clear()
        with stage("request", method="POST") as request:
            await jay.recall("when does the canary sing?")
            request.note(route="/v1/memory/recall", status=200)
    found = {span.name: span for span in spans.get_finished_spans()}
    parents = {"scrubjay.recall": "POST /v1/memory/recall", "scrubjay.retrieve": "scrubjay.recall",
               "scrubjay.embed": "scrubjay.recall", "scrubjay.words": "scrubjay.retrieve",
               "scrubjay.hydrate": "scrubjay.recall"}  # fmt: skip
    for name, parent in parents.items():
        assert found[name].parent.span_id == found[parent].context.span_id, name
    assert len({span.context.trace_id for span in found.values()}) == 1
    request = found["POST /v1/memory/recall"]
    assert request.kind.name == "SERVER"
    assert dict(request.attributes) == {
        "http.request.method": "POST",
        "http.route": "/v1/memory/recall",
        "http.response.status_code": 200,
    }
    assert found["scrubjay.store"].attributes["scrubjay.store"] == "records"
    assert "canary" not in "".join(span.to_json() for span in found.values()).lower()


def test_a_span_joins_the_caller_and_names_the_kind_of_an_error(spans):
    caller = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    with pytest.raises(NotFound), stage("request", method="GET", traceparent=caller, tracestate=None):
        raise NotFound("the canary")
    [span] = spans.get_finished_spans()
    assert f"{span.context.trace_id:032x}" == "0af7651916cd43dd8448eb211c80319c"
    assert f"{span.parent.span_id:016x}" == "b7ad6b7169203331"
    assert span.status.status_code.name == "ERROR"
    assert span.attributes["error.type"] == "NotFound"
    assert "canary" not in span.to_json()


def test_who_watches_twice_hears_everything_once():
    heard = []

    class Listener:
        def began(self, stage):
            return None

        def ended(self, stage, state):
            heard.append(stage.name)

    listener = Listener()
    first, second = watch(listener), watch(listener)
    with stage("heard once"):
        pass
    first()
    first()
    with stage("still heard"):
        pass
    second()
    with stage("heard by nobody"):
        pass
    assert heard == ["heard once", "still heard"]
