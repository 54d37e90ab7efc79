"""The dashboard, the alerts and the reference name metrics and labels that the service really exports."""

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from scrubjay.backends.telemetry.metrics import ASKED, COUNTED
from scrubjay.doors.http.app import application
from scrubjay.settings import read_settings

ROOT = Path(__file__).parents[2]
BOARD = json.loads((ROOT / "deploy/grafana/dashboards/scrubjay.json").read_text(encoding="utf-8"))
[GROUP] = yaml.safe_load((ROOT / "deploy/prometheus/alerts.yml").read_text(encoding="utf-8"))["groups"]
PROMETHEUS = yaml.safe_load((ROOT / "deploy/prometheus/prometheus.yml").read_text(encoding="utf-8"))

PANELS = [panel for panel in BOARD["panels"] if panel["type"] != "row"]
QUESTIONS = {
    **{f"alert {rule['alert']}": rule["expr"] for rule in GROUP["rules"]},
    **{f"panel {panel['title']} {target['refId']}": target["expr"] for panel in PANELS for target in panel["targets"]},
}
ADDED = {"instance", "job", "le"}
"""Labels that Prometheus adds by itself."""


async def _scraped(home: Path) -> str:
    app = application(read_settings(home=home, embedder="static", background=False))
    transport = httpx.ASGITransport(app=app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=60) as client,
    ):
        told = await client.post("/v1/memory", json={"content": "A thing that was told", "kind": "fact"})
        await client.post("/v1/memory/recall", json={"query": "what was told?"})
        await client.post("/v1/memory/recall", json={"query": "nothing at all", "user": "nobody", "kinds": ["rule"]})
        await client.post("/v1/consolidate", json={})
        await client.delete(f"/v1/memory/{told.json()['memory']['id']}")
        return (await client.get("/metrics")).text


@pytest.fixture(scope="module")
def exported(tmp_path_factory) -> dict[str, set[str]]:
    """The names of all samples of a service that has done some work, and of families without one yet; their labels."""
    text = asyncio.run(_scraped(tmp_path_factory.mktemp("home")))
    found: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(text):
        found.setdefault(family.name if family.type != "counter" else f"{family.name}_total", set())
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


def asked(expression: str) -> Iterator[tuple[str, set[str], set[str]]]:
    """Each metric of a question, the labels it is narrowed by, and those that the question groups by."""
    grouped = {one.strip() for names in re.findall(r"\bby \(([^)]*)\)", expression) for one in names.split(",")}
    for name, braces in re.findall(r"\b(scrubjay_\w+|up)\b(\{[^}]*\})?", expression):
        yield name, set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", braces)), grouped


@pytest.mark.parametrize("where", QUESTIONS)
def test_a_question_is_about_what_is_exported(where, exported):
    labels = {one.name: set(one.labels) for one in (*COUNTED, *ASKED)}
    found = list(asked(QUESTIONS[where]))
    assert found, "it asks for nothing of ours"
    for name, narrowed, grouped in found:
        family = re.sub(r"_(bucket|count|sum)$", "", name)
        if name == "up":
            continue
        # How long ago a step went well is not known before it ever did.
        assert name in exported or family in exported or name.endswith("_seconds_since_success"), name
        known = labels.get(name, labels.get(family))
        assert known is not None, f"{name} is not declared"
        assert narrowed | grouped <= known | ADDED, name
        if name.endswith("_bucket"):
            assert "le" in grouped, f"{name} needs le to be a quantile"


def test_brackets_close():
    for where, expression in QUESTIONS.items():
        for left, right in ("()", "[]", "{}"):
            assert expression.count(left) == expression.count(right), where


def test_everything_that_is_exported_is_declared(exported):
    declared = {one.name for one in (*COUNTED, *ASKED)}
    strangers = {re.sub(r"_(bucket|count|sum)$", "", name) for name in exported} - declared
    assert not strangers
    labels = {one.name: set(one.labels) for one in (*COUNTED, *ASKED)}
    for name, found in exported.items():
        assert found <= labels.get(name, labels.get(re.sub(r"_(bucket|count|sum)$", "", name), set())) | {"le"}, name


def test_every_declared_metric_is_exported(exported):
    quiet = {one.name for one in ASKED if one.name.endswith("_seconds_since_success")}
    families = {re.sub(r"_(bucket|count|sum)$", "", name) for name in exported}
    assert {one.name for one in (*COUNTED, *ASKED)} - quiet <= families


@pytest.mark.parametrize("rule", GROUP["rules"], ids=lambda rule: rule["alert"])
def test_an_alert_says_how_bad_it_is_and_leads_to_a_page_that_names_it(rule):
    assert rule["labels"]["severity"] in ("warning", "critical")
    assert re.fullmatch(r"\d+m", rule["for"])
    assert rule["annotations"]["summary"]
    page = ROOT / rule["annotations"]["runbook_url"].partition("/blob/main/")[2]
    assert page.parent == ROOT / "docs/runbooks"
    assert f"`{rule['alert']}`" in page.read_text(encoding="utf-8"), f"{page.name} does not name the alert"


def test_the_dashboard_loads_without_edits():
    names = {one["name"] for one in BOARD["templating"]["list"]}
    assert names == {"datasource", "instance"}
    assert len({panel["id"] for panel in BOARD["panels"]}) == len(BOARD["panels"])
    for panel in PANELS:
        assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
        used = set(re.findall(r"\$(?!__)\{?(\w+)", json.dumps(panel)))
        assert used <= names
    # Nothing lies upon anything else.
    taken: set[tuple[int, int]] = set()
    for place in (panel["gridPos"] for panel in BOARD["panels"]):
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken
        assert max(x for x, _ in cells) < 24
        taken |= cells


def test_prometheus_scrapes_the_service_and_reads_the_alerts():
    [job] = PROMETHEUS["scrape_configs"]
    assert job["job_name"] == "scrubjay"
    assert job["static_configs"] == [{"targets": [f"127.0.0.1:{read_settings(port=None).port}"]}]
    assert all((ROOT / "deploy/prometheus" / name).is_file() for name in PROMETHEUS["rule_files"])


def test_grafana_finds_its_dashboard_and_its_data():
    provisioning = ROOT / "deploy/grafana/provisioning"
    [source] = yaml.safe_load((provisioning / "datasources/prometheus.yml").read_text(encoding="utf-8"))["datasources"]
    assert (source["type"], source["url"]) == ("prometheus", "http://127.0.0.1:9090")
    [provider] = yaml.safe_load((provisioning / "dashboards/scrubjay.yml").read_text(encoding="utf-8"))["providers"]
    compose = (ROOT / "deploy/docker-compose.yml").read_text(encoding="utf-8")
    assert f"./grafana/dashboards:{provider['options']['path']}:ro" in compose
