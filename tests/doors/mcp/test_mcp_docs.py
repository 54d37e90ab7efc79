"""The configurations in the documentation are what clients and `scrubjay mcp` understand."""

import json
import re
import tomllib

import pytest
import typer

from scrubjay.doors.cli import app
from scrubjay.settings import Settings

FENCED = re.compile(r"^```(json|toml)\n(.*?)^```", re.MULTILINE | re.DOTALL)
SERVERS = ("mcpServers", "servers", "context_servers", "mcp_servers")


@pytest.fixture(scope="module")
def configured(pytestconfig) -> list[dict]:
    """Each way in which the page lets a client find the server."""
    page = (pytestconfig.rootpath / "docs/howto/use-with-claude-code.md").read_text(encoding="utf-8")
    read = {"json": json.loads, "toml": tomllib.loads}
    found = [read[language](text) for language, text in FENCED.findall(page)]
    return [one[name]["scrubjay"] for one in found for name in SERVERS if name in one]


def test_every_configuration_can_be_started(configured):
    command = typer.main.get_command(app).commands["mcp"]
    started = [one for one in configured if "command" in one]
    assert len(started) >= 7
    for one in started:
        assert one["command"] == "scrubjay"
        assert one["args"][0] == "mcp"
        # Raises for an option that there is not.
        command.make_context("mcp", one["args"][1:])
        for name in one.get("env", {}):
            assert name.removeprefix("SCRUBJAY_").lower() in Settings.model_fields


def test_a_client_without_a_process_is_told_the_address(configured):
    [one] = [one for one in configured if "url" in one]
    assert one["url"].endswith("/mcp")
