"""More clients than the service can answer: some are let in, the others are told when to come back, nothing is lost."""

import asyncio
import sys
from pathlib import Path

from lengths import LONG, sized

sys.path.append(str(Path(__file__).resolve().parents[3] / "benchmarks" / "http"))
from crowd import Wire, overload, p95

CLIENTS = sized(short=64, long=256)
SECONDS = sized(short=3, long=60)


def test_who_cannot_be_answered_soon_is_told_so_at_once_and_no_acknowledged_write_is_lost(start, tmp_path):
    # So short a wait is too long for this many on any machine; the full form measures the usual one.
    longest = sized(short="0.1", long="1")
    with start(tmp_path, SCRUBJAY_LONGEST_WAIT=longest, SCRUBJAY_LIMIT_WRITE="0", SCRUBJAY_LIMIT_READ="0") as server:
        seen = asyncio.run(overload(server.url, clients=CLIENTS, seconds=SECONDS))
        metrics = asyncio.run(asked(server.url, "/metrics"))
    assert set(seen.statuses) <= {200, 201, 503}
    assert seen.statuses[503] > 0
    assert seen.without_retry_after == 0
    assert f"scrubjay_http_requests_shed_total {float(seen.statuses[503])}" in metrics
    assert len(seen.acknowledged) > 0
    assert seen.lost == 0
    assert len(seen.health) > 0
    if LONG:
        assert p95(seen.refused) < p95(seen.admitted)
        assert p95(seen.admitted) < 2.0


async def asked(url, path):
    wire = await Wire.to(url)
    _, _, body = await wire.ask("GET", path)
    wire.close()
    return body.decode()
