"""The files for Docker name things that exist. Whether the images run is for those who have an engine."""

import re
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


def test_the_profile_is_whole():
    assert set(SERVICES) == {"postgres", "redis", "qdrant", "scrubjay"}


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_a_service_says_when_it_is_ready_and_comes_back_by_itself(name):
    assert SERVICES[name]["healthcheck"]["test"]
    assert SERVICES[name]["restart"] == "unless-stopped"


@pytest.mark.parametrize("name", sorted(set(SERVICES) - {"scrubjay"}))
def test_a_server_is_pinned_keeps_its_data_and_listens_on_loopback_only(name):
    server = SERVICES[name]
    assert re.search(r":v?\d+\.\d+", server["image"]), "an image needs a version"
    assert all(port.startswith("127.0.0.1:") for port in server["ports"])
    assert [volume.partition(":")[0] for volume in server["volumes"]] == [name]
    assert name in COMPOSE["volumes"]


def test_every_variable_is_a_setting_with_a_value_it_accepts(monkeypatch):
    given = {
        name.removeprefix("SCRUBJAY_").lower(): re.sub(r"\$\{[^}]+\}", "secret", value)
        for name, value in SERVICES["scrubjay"]["environment"].items()
    }
    assert given.keys() <= set(Settings.model_fields)
    settings = read_settings(**given)
    assert settings.records_url == "postgresql://scrubjay:secret@127.0.0.1:5432/scrubjay"
    assert str(settings.port) in str(SERVICES["scrubjay"]["healthcheck"]["test"])


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
    assert set(extras) == {"server", "postgres", "redis", "qdrant"}
    assert set(extras) <= set(known)
