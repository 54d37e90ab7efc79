"""Settings become a service: the defaults work, every wrong one is named, and nothing is opened too early."""

import sqlite3
import stat

import pytest

import scrubjay
from scrubjay.errors import Misconfigured, StoreUnavailable
from scrubjay.settings import read_settings
from scrubjay.testing import ToyEmbedder
from scrubjay.wiring import configured, migrate_records, wire


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """No environment but this test's, and no `.env` file."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SCRUBJAY_HOME", str(tmp_path / "home"))


def test_without_arguments_it_is_one_file_in_the_home_folder(tmp_path):
    with scrubjay.open(embedder="none") as jay:
        jay.remember("Prefers tabs")
        assert len(jay.recall("tabs")) == 1
    assert (tmp_path / "home" / "scrubjay.db").exists()
    with scrubjay.open(embedder="none") as again:
        assert again.count() == 1


def test_a_home_given_by_name_wins_over_the_environment(tmp_path):
    with scrubjay.open(tmp_path / "other", embedder="none") as jay:
        jay.remember("x")
    assert (tmp_path / "other" / "scrubjay.db").exists()
    assert not (tmp_path / "home").exists()


def test_nobody_else_reads_the_files_whatever_folder_they_are_in(tmp_path):
    home = tmp_path / "shared"
    home.mkdir(mode=0o755)
    with scrubjay.open(home, embedder="none") as jay:
        jay.remember("The spare key is under the geranium")
        files = {file.name: stat.S_IMODE(file.stat().st_mode) for file in home.iterdir()}
        assert files.keys() >= {"scrubjay.db", "scrubjay.db-wal", "scrubjay.db-shm"}
        assert set(files.values()) == {0o600}


async def test_open_async_opens_when_it_is_entered(tmp_path):
    jay = scrubjay.open_async(embedder="none")
    assert not list(tmp_path.rglob("scrubjay.db"))
    async with jay:
        await jay.remember("x")
        assert await jay.count() == 1


def test_the_bundled_model_is_the_default():
    with scrubjay.open() as jay:
        jay.remember("The deployment happens every Friday")
        hits = jay.recall("when do we release?", mode="meaning")
        assert len(hits) == 1
        assert 0 < hits[0].similarity <= 1
        assert jay.stats().embedder == "minilm"


def test_without_a_model_words_are_all_there_is():
    with scrubjay.open(embedder="none") as jay:
        jay.remember("Deploys on Friday")
        assert configured(read_settings(embedder="none")) is None
        assert jay.recall("deploys").degraded == ()
        assert jay.stats().generations == ()
        assert jay.check() == []


def test_a_model_of_ones_own_takes_the_place_of_the_configured():
    jay = wire(read_settings(), embedder=ToyEmbedder())
    assert jay.parts.index.embedder.identity.provider == "toy"


def test_the_tenant_comes_from_the_settings():
    with scrubjay.open(embedder="none", tenant="acme") as jay:
        assert jay.remember("x").memory.scope.tenant == "acme"
    with scrubjay.open(embedder="none") as jay:
        assert jay.count() == 0


def test_redaction_is_on_unless_it_is_switched_off(tmp_path):
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    for redact in True, False:
        with scrubjay.open(tmp_path / str(redact), embedder="none", redact=redact) as jay:
            assert (token in jay.remember(f"the token is {token}").memory.content) is not redact


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"colour": "blue"}, "colour: no such setting"),
        ({"records": "mysql://host/db"}, "mysql URL"),
        ({"records": "not a url"}, "records is 'not a url'"),
        ({"records": "sqlite://"}, "in memory"),
        ({"records": "sqlite:///:memory:"}, "in memory"),
        ({"vectors": "faiss"}, "SCRUBJAY_VECTORS is 'faiss'"),
        ({"embedder": "telepathy"}, "telepathy"),
        ({"tokenizer": "abacus"}, "SCRUBJAY_TOKENIZER is 'abacus'"),
        ({"threads": -1}, "SCRUBJAY_THREADS is -1"),
        ({"port": 70_000}, "SCRUBJAY_PORT is 70000"),
    ],
)
def test_a_wrong_setting_is_named(wrong, message):
    with pytest.raises(Misconfigured, match=message):
        scrubjay.open(**wrong)


def test_a_password_is_never_shown():
    jay = wire(read_settings(records="postgresql://anna:opensesame@localhost/db", embedder="none"))
    assert "opensesame" not in repr(jay)
    assert "localhost" in repr(jay)


def test_a_server_that_is_not_there_says_so():
    with pytest.raises(StoreUnavailable, match="cannot be used"):
        scrubjay.open(records="postgresql://127.0.0.1:1/db", embedder="none")


def test_migrating_a_new_store_makes_it(tmp_path):
    done = migrate_records(read_settings())
    assert (done.before, done.backup) == (None, None)
    with sqlite3.connect(tmp_path / "home" / "scrubjay.db") as connection:
        assert connection.execute("SELECT version_num FROM alembic_version").fetchone() == (done.after,)
    connection.close()


def test_the_background_indexes_what_waits(monkeypatch):
    from scrubjay.jobs import runner

    monkeypatch.setattr(runner, "TICK", 0.01)
    with scrubjay.open(embedder="none") as silent:
        silent.remember("Deploys on Friday")
    with scrubjay.open(embedder="static", background=True) as jay:
        for _ in range(1_000):
            # It answers a moment before it is marked.
            if jay.recall("Deploys on Friday", mode="meaning") and jay.stats().pending == 0:
                break
        assert len(jay.recall("Deploys on Friday", mode="meaning")) == 1
        assert jay.stats().pending == 0
