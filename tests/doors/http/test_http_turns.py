"""What one tenant sends cannot keep the service from the others: asked for first, bounded, and done in turns."""

import asyncio
import json
from contextlib import nullcontext

import pytest

from keyed import bearing, served, service
from scrubjay.doors.http import sizes, turns
from scrubjay.doors.http.bodies.body import MOST_AT_ONCE
from scrubjay.errors import Overloaded, TooManyRequests
from scrubjay.ports import watch

JSON = {"content-type": "application/json"}


@pytest.fixture
def house():
    with service(limit_write="2/hour") as house:
        yield house


def test_what_cannot_be_read_is_counted_too(house):
    key = bearing(house.key()) | JSON
    for left in ("1", "0"):
        answer = house.client.post("/v1/memory", content=b'{"content": ', headers=key)
        assert (answer.status_code, answer.headers["ratelimit-remaining"]) == (400, left)
    assert house.client.post("/v1/memory", content=b'{"content": ', headers=key).status_code == 429


def test_who_may_not_write_is_told_before_anything_is_read(house):
    key = bearing(house.key(rights=["read"])) | JSON
    assert house.client.post("/v1/memory", content=b"no JSON at all", headers=key).status_code == 403


def test_a_body_of_very_many_values_is_refused(house):
    body = b'{"content": "x", "data": {"a": [' + b"[]," * sizes.MOST_VALUES + b"1]}}"
    answer = house.client.post("/v1/memory", content=body, headers=bearing(house.key()) | JSON)
    assert (answer.status_code, answer.json()["type"]) == (413, "urn:scrubjay:error:content-too-large")
    assert "more than 100,000 values" in answer.json()["detail"]


def test_a_text_may_hold_as_many_marks_as_it_likes(house):
    table = "1,[2],{3}\n" * 80_000
    answer = house.client.post("/v1/memory", json={"content": table}, headers=bearing(house.key()))
    assert answer.status_code == 201


@pytest.mark.parametrize(
    ("text", "is_too_much"),
    [
        (json.dumps({"a": ",[{" * 200_000}).encode(), False),
        (json.dumps({"a": '",["{' * 200_000}).encode(), False),
        (json.dumps([1] * 300_000).encode(), True),
        # No text in them ends, and they are read once all the same.
        (b'"' + b'\\",' * 2_000_000, False),
        (b'"' + b'\\",' * 2_000_000 + b"\\", False),
        (b'",' * 2_000_001, True),
        # The parser reads these encodings, too, where a quotation mark that is meant so looks like the end of a text.
        (('["\\"", ' + "[]," * 200_000 + "1]").encode("utf-16"), True),
        (('["\\"", ' + "[]," * 200_000 + "1]").encode("utf-32-le"), True),
    ],
)
def test_values_are_counted_outside_of_texts(text, is_too_much):
    assert sizes.is_too_much(text) is is_too_much


def test_a_list_has_an_end(house):
    body = [{"content": "x"}] * (MOST_AT_ONCE + 1)
    answer = house.client.post("/v1/memory", json=body, headers=bearing(house.key()))
    assert answer.status_code == 400
    assert "the body is a list of 10,001: send at most 10,000 at once, or import them" in answer.json()["detail"]


def test_a_line_of_very_many_values_is_refused(house):
    lines = b'{"format": "scrubjay-memories", "version": 1}\n[' + b"[]," * sizes.MOST_VALUES + b"1]\n"
    headers = bearing(house.key()) | {"content-type": "application/x-ndjson"}
    answer = house.client.post("/v1/memory/import", content=lines, headers=headers)
    assert answer.status_code == 400
    assert "a line holds more than 100,000 values" in answer.json()["detail"]


class Seen:
    """How many recalls were under way at the same time."""

    def __init__(self):
        self.now = self.most = 0

    def began(self, stage):
        if stage.name == "recall":
            self.now += 1
            self.most = max(self.most, self.now)

    def ended(self, stage, state):
        if stage.name == "recall":
            self.now -= 1


@pytest.mark.parametrize(("given", "most"), [({}, 4), ({"turns": 2}, 2), ({"turns": 0}, 40)])
async def test_one_tenant_is_answered_a_few_at_a_time(given, most):
    async with served(**given) as house:
        mine = bearing(await asyncio.to_thread(house.key))
        stop = watch(seen := Seen())
        try:
            asked = [house.client.post("/v1/memory/recall", json={"query": "x"}, headers=mine) for _ in range(40)]
            answers = await asyncio.gather(*asked)
        finally:
            stop()
    assert {answer.status_code for answer in answers} == {200}
    assert 1 <= seen.most <= most
    assert most < 40 or seen.most > turns.READS


async def test_others_do_not_wait_for_a_turn():
    line, order = turns.Turns(), []
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        end = asyncio.Event()

        async def work(tenant, kind):
            async with line.taken(tenant, kind):
                order.append((tenant, kind))
                await end.wait()

        for _ in range(turns.READS + 1):
            group.create_task(work("acme", "read"))
        group.create_task(work("globex", "read"))
        group.create_task(work("acme", "write"))
        for _ in range(100):
            await asyncio.sleep(0)
        assert order.count(("acme", "read")) == turns.READS
        assert {("globex", "read"), ("acme", "write")} <= set(order)
        end.set()
    assert order.count(("acme", "read")) == turns.READS + 1
    assert not line._lines  # Nothing is kept of a tenant that asks for nothing.


def test_requests_under_way_have_an_end(monkeypatch, house):
    line = turns.Turns(1)
    monkeypatch.setattr(turns, "UNDER_WAY", 1)
    with line.counted("acme"):
        with line.counted("globex"):
            pass
        with (
            pytest.raises(TooManyRequests, match="1 requests and streams of this tenant are under way"),
            line.counted("acme"),
        ):
            pass
    with line.counted("acme"):
        pass
    assert not line._under_way
    monkeypatch.setattr(turns, "UNDER_WAY", 0)
    answer = house.client.get("/v1/memory", headers=bearing(house.key()))
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")


@pytest.mark.parametrize(
    ("headers", "may_be"),
    [
        ({}, False),
        ({"content-length": "65536"}, False),
        ({"content-length": "65537"}, True),
        ({"content-length": "nonsense"}, True),
        ({"transfer-encoding": "chunked"}, True),
        ({"transfer-encoding": "chunked", "content-type": "application/x-ndjson"}, True),
    ],
)
def test_what_may_take_memory_is_known_before_it_comes(headers, may_be):
    assert turns.may_be_large(turns.Headers(headers)) is may_be


CHUNKED = turns.Headers({"transfer-encoding": "chunked"})


async def test_what_is_large_has_a_turn_until_it_is_answered():
    line, end, bodies = turns.Turns(1), asyncio.Event(), []

    async def answer(body):
        async def receive():
            return body

        async with line.received("acme", CHUNKED, receive) as came:
            bodies.append(came)
            await end.wait()

    async with asyncio.TaskGroup() as group:
        # What turns out to be small lets the others through, however long it is worked on.
        for body in [b"{}"] * 5 + [b"x" * (turns.LARGE + 1)] * 3:
            group.create_task(answer(body))
        for _ in range(100):
            await asyncio.sleep(0)
        assert [len(body) for body in bodies] == [2] * 5 + [turns.LARGE + 1] * 2
        end.set()
    assert len(bodies) == 8
    assert not line._lines


async def test_a_large_body_that_is_sent_once_takes_one_turn():
    """What keeps answers receives it first, and then the route: both of eight at once must not wait for each other."""
    async with served(turns=1) as house:
        mine = bearing(await asyncio.to_thread(house.key))
        ask = {"content": "Long ago. " * 10_000}
        sent = [
            house.client.post(
                "/v1/memory", json=ask | {"user": f"u-{number}"}, headers=mine | {"idempotency-key": name}
            )
            for number, name in enumerate("abcdefgh")
        ]
        async with asyncio.timeout(60):
            answers = await asyncio.gather(*sent)
    assert {answer.status_code for answer in answers} == {201}


@pytest.mark.parametrize("path", ["/v1/memory", "/v1/consolidate", "/v1/facts/cleanup", "/v1/workspace/prune"])
@pytest.mark.parametrize("said", ["application/json", "application/x-ndjson"])
def test_only_what_is_read_line_by_line_may_be_very_long(path, said):
    with service(request_bytes=100_000) as house:
        headers = bearing(house.key()) | {"content-type": said}
        answer = house.client.post(path, content=b'{"x": "' + b"x" * 200_000 + b'"}', headers=headers)
    assert (answer.status_code, answer.json()["type"]) == (413, "urn:scrubjay:error:content-too-large")


async def test_nobody_is_let_in_while_it_is_asked_whether_there_are_keys(monkeypatch):
    async with served() as house:
        await asyncio.to_thread(house.key)
        access = house.app.state.opening.jay.access
        seen, keys = access._stores().seen, access._stores().keys
        known, asked = type(keys).any, asyncio.Event()
        seen.exist, seen.none_at, seen.answered = False, None, False

        async def slow(self):
            await asked.wait()
            return await known(self)

        monkeypatch.setattr(type(keys), "any", slow)
        coming = [asyncio.create_task(house.client.get("/v1/memory")) for _ in range(5)]
        for _ in range(100):
            await asyncio.sleep(0)
        asked.set()
        assert [answer.status_code for answer in await asyncio.gather(*coming)] == [401] * 5


class Clock:
    """A clock that moves when it is told to."""

    def __init__(self):
        self.now = 100.0

    def monotonic(self):
        return self.now

    def process_time(self):
        return 0.0


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(turns, "time", clock)
    return clock


def crowded(clock, *, many, pace, tenant="acme"):
    """A crowd of so many who wait, after a while in which one was answered every `pace` seconds."""
    crowd = turns.Crowd(1.0)
    for _ in range(many):
        crowd.join(tenant)
    for _ in range(100):
        clock.now += pace
        crowd.leave(tenant, is_answered=True)
        crowd.join(tenant)
    return crowd


def test_a_request_is_refused_when_it_would_wait_for_too_long(clock):
    crowded(clock, many=90, pace=0.01).check_room("acme")
    with pytest.raises(Overloaded, match="110 requests wait already, which takes more than 1 s: try again in a second"):
        crowded(clock, many=110, pace=0.01).check_room("acme")


def test_a_few_may_wait_however_long_it_takes(clock):
    crowded(clock, many=turns.FEW - 1, pace=0.9).check_room("acme")
    with pytest.raises(Overloaded):
        crowded(clock, many=turns.FEW, pace=0.9).check_room("acme")


def test_a_tenant_that_asks_for_little_finds_room_beside_one_that_floods(clock):
    crowd = crowded(clock, many=120, pace=0.01)
    crowd.check_room("globex")
    with pytest.raises(Overloaded):
        crowd.check_room("acme")
    crowd = crowded(clock, many=200, pace=0.01)
    with pytest.raises(Overloaded):
        crowd.check_room("globex")


def test_nobody_is_let_in_while_nobody_is_answered(clock):
    crowd = crowded(clock, many=20, pace=0.001)
    crowd.check_room("acme")
    clock.now += 2
    with pytest.raises(Overloaded):
        crowd.check_room("acme")


def test_a_while_without_requests_is_not_slow(clock):
    crowd = turns.Crowd(1.0)
    for _ in range(100):
        crowd.join("acme")
        clock.now += 0.01
        crowd.leave("acme", is_answered=True)
        clock.now += 3_600
    for _ in range(50):
        crowd.join("acme")
    crowd.check_room("acme")


def test_before_the_first_answer_a_wave_is_let_in_as_far_as_is_likely(clock):
    crowd = turns.Crowd(1.0)
    for _ in range(round(1 / turns.LIKELY)):
        crowd.check_room("acme")
        crowd.join("acme")
    crowd.join("acme")
    with pytest.raises(Overloaded):
        crowd.check_room("acme")


def test_whose_body_is_on_its_way_waits_for_nobody(clock):
    line = turns.Turns(longest_wait=1.0)
    with line.counted("acme") as waiting:
        assert line.crowd.wait == turns.LIKELY
        with waiting.aside():
            assert line.crowd.wait == 0
        assert line.crowd.wait == turns.LIKELY
        waiting.end(is_answered=True)
        assert line.crowd.wait == 0
    assert line.crowd.wait == 0


def test_a_request_for_which_there_is_no_room_is_refused_with_when_to_come_back(monkeypatch, house):
    def full(_crowd, _tenant=None):
        raise Overloaded("too many")

    key = bearing(house.key())
    monkeypatch.setattr(turns.Crowd, "check_room", full)
    answer = house.client.post("/v1/memory/recall", json={"query": "x"}, headers=key)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert answer.json()["type"] == "urn:scrubjay:error:overloaded"
    assert house.client.get("/healthz").status_code == 200
    counted = house.client.get("/metrics").text
    assert "scrubjay_http_requests_shed_total 1.0" in counted


@pytest.mark.parametrize(("is_busy", "beside_others", "at_once"), [(True, True, 1), (True, False, 4), (False, True, 4)])
async def test_a_tenant_whose_turns_are_long_has_one_at_a_time_while_others_wait_for_the_processor(
    monkeypatch, is_busy, beside_others, at_once
):
    monkeypatch.setattr(turns, "LONG", 0.0)
    monkeypatch.setattr(turns.Processor, "is_busy", is_busy)
    shared, working, most = turns.Turns(4), 0, 0

    async def ask():
        nonlocal working, most
        async with shared.taken("loud", "read"):
            working += 1
            most = max(most, working)
            for _ in range(5):
                await asyncio.sleep(0)
            working -= 1

    with shared.counted("quiet") if beside_others else nullcontext(), shared.counted("loud"):
        await ask()  # From here on it is known that its turns are long.
        most = 0
        await asyncio.gather(*(ask() for _ in range(8)))
    assert most == at_once
