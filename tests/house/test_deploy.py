"""The files for Docker and systemd name things that exist. Whether the images run is for those who have an engine."""

import configparser
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from scrubjay.settings import Settings, read_settings

ROOT = Path(__file__).parents[2]
COMPOSE = yaml.safe_load((ROOT / "deploy/docker-compose.yml").read_text(encoding="utf-8"))
DOCKERFILE = (ROOT / "deploy/Dockerfile").read_text(encoding="utf-8")
EXAMPLE = (ROOT / "deploy/example.env").read_text(encoding="utf-8")
SERVICES = COMPOSE["services"]


OURS = ("scrubjay", "worker")
MONITORING = ("prometheus", "grafana")


def test_the_profile_is_whole():
    assert set(SERVICES) == {"postgres", "redis", "qdrant", *OURS, *MONITORING}
    assert all(SERVICES[name]["profiles"] == ["monitoring"] for name in MONITORING)
    assert not [name for name in SERVICES if "profiles" in SERVICES[name] and name not in MONITORING]


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_a_service_says_when_it_is_ready_and_comes_back_by_itself(name):
    assert SERVICES[name]["healthcheck"]["test"]
    assert SERVICES[name]["restart"] == "unless-stopped"
    assert {"cpus", "memory"} == SERVICES[name]["deploy"]["resources"]["limits"].keys()


@pytest.mark.parametrize("name", sorted(set(SERVICES) - {*OURS, *MONITORING}))
def test_a_server_is_pinned_keeps_its_data_and_listens_on_loopback_only(name):
    server = SERVICES[name]
    assert re.search(r":v?\d+\.\d+", server["image"]), "an image needs a version"
    assert all(port.startswith("127.0.0.1:") for port in server["ports"])
    assert [volume.partition(":")[0] for volume in server["volumes"]] == [name]
    assert name in COMPOSE["volumes"]


@pytest.mark.parametrize("name", MONITORING)
def test_what_watches_is_pinned_and_reads_files_that_are_there(name):
    assert re.search(r":v?\d+\.\d+\.\d+$", SERVICES[name]["image"]), "an image needs a version"
    assert "127.0.0.1" in str(SERVICES[name])
    for volume in SERVICES[name]["volumes"]:
        source = volume.partition(":")[0]
        assert source in COMPOSE["volumes"] or (ROOT / "deploy" / source).is_dir()


@pytest.mark.parametrize("name", OURS)
def test_every_variable_is_a_setting_with_a_value_it_accepts(monkeypatch, name):
    given = {
        name.removeprefix("SCRUBJAY_").lower(): re.sub(r"\$\{[^}]+\}", "secret", value)
        for name, value in SERVICES[name]["environment"].items()
    }
    assert given.keys() <= set(Settings.model_fields)
    settings = read_settings(**given)
    assert settings.records_url == "postgresql://scrubjay:secret@127.0.0.1:5432/scrubjay"
    assert settings.vectors == "qdrant://127.0.0.1:6333"


def test_the_service_is_asked_where_it_listens():
    port = str(read_settings(port=None).port)
    assert f":{port}/readyz" in str(SERVICES["scrubjay"]["healthcheck"]["test"])
    assert f":{port}/healthz" in DOCKERFILE
    assert f"EXPOSE {port}" in DOCKERFILE


def test_the_worker_and_the_service_are_the_same_beside_what_they_run():
    service, worker = SERVICES["scrubjay"], SERVICES["worker"]
    assert worker["command"] == ["scrubjay", "work"]
    assert {name for name in service if service.get(name) != worker.get(name)} == {
        "environment", "deploy", "healthcheck"
    }  # fmt: skip
    assert worker["environment"].items() <= service["environment"].items()


def test_nobody_is_killed_before_it_had_time_to_stop():
    from scrubjay.doors.http.server import FLUSH, GRACE

    assert int(SERVICES["scrubjay"]["stop_grace_period"].removesuffix("s")) > GRACE + FLUSH
    for unit in UNITS:
        assert int(sections(unit)["Service"]["TimeoutStopSec"]) > GRACE + FLUSH


def test_every_secret_is_in_the_example_and_has_no_default():
    text = (ROOT / "deploy/docker-compose.yml").read_text(encoding="utf-8")
    asked = {name for name, _ in re.findall(r"\$\{(\w+)(:\?[^}]*)?\}", text)}
    assert asked == set(re.findall(r"^(\w+)=$", EXAMPLE, re.MULTILINE))
    assert all(f"${{{name}:?" in text for name in asked), "a secret that is missing must stop the start"


def test_what_the_image_is_built_from_is_there_and_is_sent():
    sent = re.findall(r"^!(\S+)$", (ROOT / ".dockerignore").read_text(encoding="utf-8"), re.MULTILINE)
    copied = [path for line in re.findall(r"^COPY (.+) \S+$", DOCKERFILE, re.MULTILINE) for path in line.split()]
    assert sorted(copied) == sorted(sent)
    assert all((ROOT / path).exists() for path in copied)


def test_the_image_has_the_extras_that_the_profile_needs():
    extras = re.search(r'"\.\[([a-z,]+)\]"', DOCKERFILE)[1].split(",")
    known = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert set(extras) >= {"server", "postgres", "redis", "qdrant"}
    assert set(extras) <= set(known)


# systemd

UNITS = sorted((ROOT / "deploy/systemd").glob("*.service"))


def sections(unit: Path) -> configparser.ConfigParser:
    parsed = configparser.ConfigParser(interpolation=None, strict=False)
    parsed.optionxform = str  # systemd tells Large from small letters
    parsed.read(unit, encoding="utf-8")
    return parsed


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_a_unit_runs_a_command_that_exists_as_nobody_special(unit):
    import typer

    from scrubjay.doors.cli import app

    service = sections(unit)["Service"]
    program, command = service["ExecStart"].split()
    assert program == "/opt/scrubjay/bin/scrubjay"
    assert command in typer.main.get_command(app).commands
    assert service["User"] == "scrubjay"
    assert service["ProtectSystem"] == "strict"
    assert service["Environment"] == f"SCRUBJAY_HOME=/var/lib/{service['StateDirectory']}"
    assert sections(unit)["Install"]["WantedBy"] == "multi-user.target"


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_systemd_understands_a_unit(unit, tmp_path):
    known = {"User", "Group", "Environment", "EnvironmentFile", "ExecStart", "Restart", "RestartSec", "KillMode",
             "TimeoutStopSec", "LimitNOFILE", "MemoryMax", "StateDirectory", "StateDirectoryMode", "WorkingDirectory",
             "UMask", "NoNewPrivileges", "PrivateDevices", "PrivateTmp", "ProtectControlGroups", "ProtectHome",
             "ProtectKernelModules", "ProtectKernelTunables", "ProtectSystem", "RestrictAddressFamilies",
             "RestrictSUIDSGID", "LockPersonality", "CapabilityBoundingSet"}  # fmt: skip
    assert set(sections(unit)["Service"]) <= known
    if (analyze := shutil.which("systemd-analyze")) is None:
        return
    here = tmp_path / unit.name
    here.write_text(unit.read_text(encoding="utf-8").replace("/opt/scrubjay/bin/scrubjay", sys.executable))
    done = subprocess.run([analyze, "verify", here], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert unit.name not in done.stderr, done.stderr
