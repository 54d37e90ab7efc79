"""Each framework's suite runs in one process of its own, with the framework fetched into a folder apart."""

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

import fetch
from scrubjay.errors import Misconfigured

HERE = Path(__file__).resolve().parent
SUITES = {
    "langgraph": ("langgraph_saver_suite.py", "langgraph_store_suite.py"),
    "openai-agents": ("openai_agents_suite.py",),
}


def test_without_langgraph_the_error_says_what_to_install(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("scrubjay.adapters.langgraph")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "langchain_core.runnables", None)
    with pytest.raises(Misconfigured, match=r"need langchain_core.*pip install 'scrubjay\[langgraph\]'"):
        importlib.import_module("scrubjay.adapters.langgraph")


@pytest.mark.slow
@pytest.mark.parametrize("framework", SUITES)
def test_the_suite_of_a_framework(framework, server_url, tmp_path):
    suites = [str(HERE / name) for name in SUITES[framework]]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "pytest_asyncio.plugin", "-p", "no:cacheprovider", *suites],
        cwd=HERE.parents[1],
        env={
            **os.environ,
            "PYTHONPATH": str(fetch.packages_apart(framework)),
            # Plugins of packages that a framework brings along would be imported, and take seconds.
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTEST_ADDOPTS": "",
            "PYTEST_DEBUG_TEMPROOT": str(tmp_path),
            "SCRUBJAY_TEST_POSTGRES": server_url("postgres"),
            "LANGSMITH_TRACING": "false",
            "OPENAI_AGENTS_DISABLE_TRACING": "1",
        },
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
