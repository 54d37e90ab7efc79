"""Every example runs as it stands and shows what it promises."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import fetch
from lengths import LONG

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NEEDS = {"langgraph_agent.py": "langgraph"}
"""Examples that use what the development install does not have."""

IN_SUITES = ("langgraph_resume.py", "openai_agents_chat.py")
"""Those that the suites of test_adapters.py run, which have it imported already."""

COLD = {"quickstart.py", *NEEDS}
"""Those that start as they do for people, in the short form too."""

SHOWS = {
    "quickstart.py": [
        "The payment service retries three times  (close in meaning",
        "superseded  The payment service retries three times",
        "current     The payment service retries five times",
        "past        The payment service retries three times",
        "- Prefers tabs over spaces",
        "- Deployments are frozen on Fridays",
        "of 200 tokens",
    ],
    "chat_with_memory.py": [
        "--- friday",
        "Ada: Where is my hive again?",
        "Jay: You told me: 2",
        "My hive has 40,000 bees and stands in Lisbon",
        "Jay: You told me: Please answer in short sentences",
    ],
    "langgraph_agent.py": [
        "Ada: I prefer short answers, with the command first.\nJay: Noted.",
        "(drain: 6 messages, 1 session; distill: 1 summary, 2 facts, 1 session)",
        "Jay: You told me: The staging database is called heron and runs on port 5544.",
        "Jay: You told me: From now on always name the ticket in the commit message",
    ],
    "langgraph_resume.py": [
        "Send it? Dear Ada, your hive in Lisbon is well.",
        "waits before: approve",
        "log: drafted, somebody said yes, sent",
        "steps on record: 5",
        "in the store: Dear Ada, your hive in Lisbon is well.",
        "recalled: item",
    ],
    "openai_agents_chat.py": [
        "Jay: The Lisbon hive weighs 31 kg",
        "Jay: You and I have said 7 things.",
        "remembered: user: My hive stands in Lisbon.",
        "remembered: tool: The Lisbon hive weighs 31 kg",
    ],
    "record_jobs_threads.py": [
        "SHOP-3 failed: this one fails",
        "SHOP-2: Count the articles of a cart (shop-2.py)",
        "2 written, 1 skipped, 0 dropped",
    ],
    "record_jobs_asyncio.py": [
        "['fixed', 'fixed']",
        "follow small: articles.sort(key=lambda article: article.price)",
        "not large; is it advice? False",
    ],
    "record_jobs_celery.py": [
        "celery-0: Translate the page welcome, welcome.de.md is fresh",
        "celery-1: Translate the page imprint, imprint.de.md is fresh",
    ],
    "resumable_agent.py": [
        'handbook-writer is in cycle 2, step 1 waits for its result: write(path="remember.md"',
        "3\tcycle 3 completed: Written and listed",
        "4 files, kept in 3 snapshots",
    ],
    "many_processes.py": [
        "60 events from 3 processes",
        "1 fact that all of them told",
        "found: Process 2 did step 7",
    ],
}


def test_every_example_is_run():
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(SHOWS)


@pytest.mark.parametrize("name", [name for name in SHOWS if name not in IN_SUITES])
def test_an_example(name, warm, tmp_path):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SCRUBJAY_")}
    extra = {"PYTHONPATH": str(fetch.packages_apart(NEEDS[name]))} if name in NEEDS else {}
    done = subprocess.run(
        [sys.executable if LONG or name in COLD else str(warm / "python"), str(EXAMPLES / name)],
        cwd=tmp_path,
        env=environment | {"SCRUBJAY_HOME": str(tmp_path / "home"), **extra},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for line in SHOWS[name]:
        assert line in done.stdout
    assert not (tmp_path / "home").exists(), "an example keeps to its own folder"
