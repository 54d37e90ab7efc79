"""What the library says while a command works: a line each for people, away from what a program reads."""

import json
import logging

import pytest
import structlog

from scrubjay.doors.cli.place import Place, log_to_standard_error
from scrubjay.doors.http.logs import log_as_json
from scrubjay.errors import StoreUnavailable
from scrubjay.logs import logger


@pytest.fixture(autouse=True)
def as_before():
    said = logging.getLogger("scrubjay")
    handlers, level = said.handlers, said.level
    yield
    said.handlers = handlers
    said.setLevel(level)


def test_a_warning_is_a_sentence(capsys):
    log_to_standard_error()
    logger("index").warning("indexing has to wait", memories=3, error="the engine is down")
    logger("index").info("indexed what waited", memories=3)
    said = capsys.readouterr()
    assert said.err == "warning: indexing has to wait (memories 3, error the engine is down)\n"
    assert said.out == ""


def test_a_worker_says_more(capsys):
    log_to_standard_error("info")
    logger("jobs").info("indexed what waited", memories=3)
    logging.getLogger("scrubjay.elsewhere").error("said %s", "plainly")
    assert capsys.readouterr().err == "info: indexed what waited (memories 3)\nerror: said plainly\n"


def test_saying_so_twice_says_it_once(capsys):
    log_to_standard_error()
    log_to_standard_error()
    logger("jobs").error("work failed")
    assert capsys.readouterr().err == "error: work failed\n"


def test_a_service_writes_json_instead(capsys):
    root, level = logging.root.handlers, logging.root.level
    log_to_standard_error()
    log_as_json("info")
    try:
        logger("jobs").info("indexed what waited", memories=3)
    finally:
        structlog.reset_defaults()
        logging.root.handlers = root
        logging.root.setLevel(level)
    [line] = capsys.readouterr().err.splitlines()
    assert json.loads(line)["memories"] == 3


def test_that_a_store_is_down_is_said_once(capsys):
    said = log_to_standard_error()

    def failing():
        with said.once():
            logger("breaker").warning("store is down", store="postgresql://here", error="refused: start it")
            logger("breaker").warning("store is down", store="qdrant://there", error="away")
            logger("index").warning("indexing has to wait", memories=3)
            raise StoreUnavailable("refused: start it")

    with pytest.raises(StoreUnavailable):
        failing()
    waited, other = capsys.readouterr().err.splitlines()
    assert waited == "warning: indexing has to wait (memories 3)"
    assert other == "warning: store is down (store qdrant://there, error away)"
    with said.once():
        logger("breaker").warning("store is down", store="postgresql://here", error="refused: start it")
    assert len(capsys.readouterr().err.splitlines()) == 1, "who goes on without it should know"


def test_a_command_without_its_database_prints_one_line(run, monkeypatch):
    monkeypatch.setenv("SCRUBJAY_RECORDS", "postgresql://nobody@127.0.0.1:1/none")
    [line] = run("list", code=1).err.splitlines()
    assert line.startswith("error: postgresql://nobody@127.0.0.1:1/none cannot be used")


def test_a_command_that_goes_on_says_at_once_that_a_store_is_down(capsys, tmp_path):
    for lasts, lines in ((True, 1), (False, 0)):
        with Place(home=tmp_path, tenant=None).opened(lasts=lasts):
            logger("breaker").warning("store is down", store="qdrant://there", error="away")
            assert len(capsys.readouterr().err.splitlines()) == lines
        assert len(capsys.readouterr().err.splitlines()) == 1 - lines
