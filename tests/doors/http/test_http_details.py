"""Where the stores are, and what ails them, is told to whoever runs the installation, and to nobody else."""

import shutil

import pytest

from keyed import bearing, noticed, service
from scrubjay.access import verbs


@pytest.fixture
def house():
    with service() as house:
        yield house


def test_readiness_names_no_place_to_strangers(house):
    assert str(house.home) in house.client.get("/readyz").text  # This machine, and there are no keys.
    theirs, ours = bearing(house.key(tenant="acme", rights=["admin"])), bearing(house.key(rights=["admin"]))
    assert noticed(lambda: house.client.get("/v1/memory")).status_code == 401
    for headers in ({}, theirs, bearing(house.key("reader")), {"authorization": "Bearer nonsense"}):
        answer = house.client.get("/readyz", headers=headers)
        assert str(house.home) not in answer.text
        assert answer.json()["stores"]["records"] == {
            "name": "sqlite",
            "state": "up",
            "milliseconds": answer.json()["stores"]["records"]["milliseconds"],
        }
    assert str(house.home) in house.client.get("/readyz", headers=ours).json()["stores"]["records"]["name"]


def test_counts_name_no_place_to_tenants(house):
    theirs, ours = bearing(house.key(tenant="acme", rights=["admin"])), bearing(house.key(rights=["admin"]))
    assert house.client.get("/v1/memory/stats", headers=theirs).json()["records"] == "sqlite"
    assert str(house.home) in house.client.get("/v1/memory/stats", headers=ours).json()["records"]
    assert str(house.home) not in house.client.get("/", headers=theirs).text


def test_a_fault_names_no_place_to_tenants(house, capsys):
    theirs = bearing(house.key(tenant="acme"))
    shutil.move(house.home / "scrubjay.db", house.home / "elsewhere.db")
    try:
        for headers in (theirs, {}):
            for _ in range(100):
                answer = house.client.get("/v1/memory", headers=headers)
                if answer.status_code == 503:
                    break
            assert answer.status_code == 503
            assert str(house.home) not in answer.text
            assert "Whoever runs the service finds the details in its log" in answer.json()["detail"]
    finally:
        shutil.move(house.home / "elsewhere.db", house.home / "scrubjay.db")
    logged = capsys.readouterr()
    assert str(house.home) in logged.out + logged.err


def test_a_fault_is_told_in_full_where_there_are_no_keys(house):
    assert house.client.get("/v1/memory").status_code == 200
    shutil.move(house.home / "scrubjay.db", house.home / "elsewhere.db")
    try:
        for _ in range(100):
            answer = house.client.get("/v1/memory")
            if answer.status_code == 503:
                break
        assert str(house.home) in answer.json()["detail"]
    finally:
        shutil.move(house.home / "elsewhere.db", house.home / "scrubjay.db")


def test_no_stranger_learns_which_tenants_there_are():
    with service(metrics_tenant=True) as house:
        theirs, ours = bearing(house.key(tenant="acme", rights=["admin"])), bearing(house.key(rights=["admin"]))
        house.client.post("/v1/memory", json={"content": "x"}, headers=theirs)
        for headers in ({}, theirs):
            told = house.client.get("/metrics", headers=headers).text
            assert "acme" not in told
            assert "scrubjay_store_up" in told
        assert 'tenant="acme"' in house.client.get("/metrics", headers=ours).text
        refused = house.client.get("/v1/upkeep", headers=theirs)
        assert (refused.status_code, "default" in refused.text) == (403, False)


def test_a_tenant_names_no_file_of_ours(house, tmp_path, monkeypatch):
    (tmp_path / "notes.jsonl.gz").write_bytes(b"no archive of theirs")
    monkeypatch.chdir(tmp_path)
    admin = bearing(house.key(tenant="acme", rights=["admin"]))
    for name in ("notes.jsonl.gz", "..", "none"):
        answer = house.client.post("/v1/upkeep/archives/restore", json={"file": name}, headers=admin)
        assert (answer.status_code, str(house.home) in answer.text) == (404, False), answer.text


def test_a_tenant_does_not_multiply_its_allowance_without_end(house, monkeypatch):
    admin = house.key(tenant="acme", rights=["admin"])
    monkeypatch.setattr(verbs, "MOST_VALID", 2)
    made = [house.client.post("/v1/keys", json={"name": "more"}, headers=bearing(admin)) for _ in range(2)]
    assert [answer.status_code for answer in made] == [201, 403]
    assert "this tenant has 2 valid keys" in made[1].json()["detail"]
    rotate, other = f"/v1/keys/{made[0].json()['key']['id']}/rotate", bearing(admin)
    assert house.client.post(rotate, json={"grace": 60}, headers=other).status_code == 403
    assert house.client.post(rotate, json={}, headers=other).status_code == 200
    house.key("from the machine itself", tenant="acme")
    monkeypatch.setattr(verbs, "MOST_VALID", 100)
    monkeypatch.setattr(verbs, "MOST_MADE", 4)
    assert house.client.post("/v1/keys", json={"name": "more"}, headers=bearing(admin)).status_code == 403


def test_what_only_lists_is_not_kept(house):
    """A key that may only read makes the store keep nothing."""
    reader = bearing(house.key(rights=["read"])) | {"idempotency-key": "once"}
    for _ in range(2):
        answer = house.client.post("/v1/memory/recall", json={"query": "x"}, headers=reader)
        assert (answer.status_code, "idempotency-replayed" in answer.headers) == (200, False)
