"""A key that asks for too much is told so, and when to come back; other keys and other classes go on."""

import pytest

from keyed import bearing, service
from scrubjay.doors.http.access import address_of


@pytest.fixture
def house():
    with service(limit_read="3/minute", limit_write="2/hour", limit_heavy="0") as house:
        yield house


def test_a_key_that_asks_too_much_waits(house):
    mine, other = bearing(house.key()), bearing(house.key("other"))
    for left in (2, 1, 0):
        answer = house.client.get("/v1/memory", headers=mine)
        assert answer.status_code == 200
        assert answer.headers["ratelimit-limit"] == "3"
        assert answer.headers["ratelimit-remaining"] == str(left)
        assert answer.headers["ratelimit-policy"] == '"read";q=3;w=60'
        assert "retry-after" not in answer.headers
    refused = house.client.post("/v1/memory/recall", json={"query": "x"}, headers=mine)
    assert refused.status_code == 429
    assert refused.json()["type"] == "urn:scrubjay:error:too-many-requests"
    assert "3 read requests in 60 seconds" in refused.json()["detail"]
    assert 1 <= int(refused.headers["retry-after"]) <= 60
    assert refused.headers["ratelimit-reset"] == refused.headers["retry-after"]
    assert house.client.post("/v1/memory", json={"content": "x"}, headers=mine).status_code == 201
    assert house.client.get("/v1/memory", headers=other).status_code == 200


def test_what_has_no_limit_is_not_counted(house):
    key = bearing(house.key())
    for _ in range(5):
        answer = house.client.post("/v1/consolidate", json={"steps": ["expire"]}, headers=key)
        assert answer.status_code == 200
        assert "ratelimit-limit" not in answer.headers


def test_who_needs_no_key_has_no_limit(house):
    for _ in range(5):
        assert house.client.get("/v1/memory").status_code == 200


def test_an_address_whose_keys_are_not_valid_is_told_to_wait():
    with service(limit_failed="2/minute") as house:
        good, wrong = bearing(house.key()), {"authorization": f"Bearer sj_{'0' * 16}_{'x' * 43}"}
        for _ in range(2):
            assert house.client.get("/v1/memory", headers=wrong).status_code == 401
        refused = house.client.get("/v1/memory", headers={"x-api-key": "no key at all"})
        assert refused.status_code == 429
        assert refused.json()["type"] == "urn:scrubjay:error:too-many-requests"
        assert "a key that is not valid 2 times in 60 seconds" in refused.json()["detail"]
        assert "SCRUBJAY_LIMIT_FAILED" in refused.json()["detail"]
        assert 1 <= int(refused.headers["retry-after"]) <= 60
        assert refused.headers["ratelimit-policy"] == '"failed";q=2;w=60'
        # Another program behind the same address goes on; and whoever forgot the key is told that it is missing.
        assert house.client.get("/v1/memory", headers=good).status_code == 200
        assert house.client.get("/v1/memory").status_code == 401


@pytest.mark.parametrize(
    ("host", "counted"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:aaaa::1", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:bbbb::9", "2001:db8:1:2::/64"),
        ("testclient", "testclient"),
    ],
)
def test_one_site_is_one_address(host, counted):
    assert address_of({"client": (host, 1234)}) == counted


def test_a_request_from_nowhere_has_an_address_all_the_same():
    assert address_of({"client": None}) == ""
