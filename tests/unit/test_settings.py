"""Settings: read once, from names, the environment and a `.env` file, in this order; wrong ones are named."""

from pathlib import Path

import pytest

from scrubjay.errors import Misconfigured
from scrubjay.settings import Settings, read_settings
from scrubjay.usual_variables import USUAL


@pytest.fixture(autouse=True)
def empty_environment(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in Settings.model_fields:
        monkeypatch.delenv(f"SCRUBJAY_{name.upper()}", raising=False)
    for name in USUAL.values():
        monkeypatch.delenv(name, raising=False)


def test_no_configuration_at_all_works():
    settings = read_settings()
    assert settings.records_url == f"sqlite:///{settings.home / 'scrubjay.db'}"
    assert (settings.embedder, settings.vectors, settings.redact) == ("minilm", "embedded", True)


def test_names_win_over_the_environment_and_that_over_the_file(tmp_path, monkeypatch):
    (tmp_path / ".env").write_text("SCRUBJAY_TENANT=from-file\nSCRUBJAY_EMBEDDER=static\nOTHER_TOOL=1\n")
    assert read_settings().tenant == "from-file"
    monkeypatch.setenv("SCRUBJAY_TENANT", "from-environment")
    assert (read_settings().tenant, read_settings().embedder) == ("from-environment", "static")
    assert read_settings(tenant="given").tenant == "given"
    assert read_settings(tenant=None).tenant == "from-environment"


def test_the_home_folder_may_start_with_a_tilde(monkeypatch):
    monkeypatch.setenv("HOME", "/somewhere")
    assert read_settings(home="~/memory").records_url == "sqlite:////somewhere/memory/scrubjay.db"
    assert read_settings(home=Path("here")).records_url.endswith("/here/scrubjay.db")


@pytest.mark.parametrize("url", ["sqlite:///here.db", "postgresql://host/db"])
def test_the_url_of_a_database_is_no_folder(url):
    with pytest.raises(Misconfigured, match=r"SCRUBJAY_HOME is .*belongs into `records`"):
        read_settings(home=url)


def test_a_records_url_is_taken_as_it_is():
    assert read_settings(records="postgresql://host/db").records_url == "postgresql://host/db"


def test_every_wrong_setting_is_named_at_once(monkeypatch):
    monkeypatch.setenv("SCRUBJAY_PORT", "many")
    with pytest.raises(Misconfigured, match=r"SCRUBJAY_THREADS is 999.*SCRUBJAY_PORT is 'many'"):
        read_settings(threads=999)


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(
        Misconfigured, match=r"embeder: no such setting, did you mean embedder\? There are home, records"
    ):
        read_settings(embeder="static")
    with pytest.raises(Misconfigured, match="colour, embeder: no such setting, use home, records"):
        read_settings(embeder="static", colour="blue")


@pytest.mark.parametrize(
    ("name", "value", "remedy"),
    [
        ("PORT", "many", "use a whole number, such as 5"),
        ("PORT", "99999", "use 65535 or less"),
        ("REDACT", "perhaps", "use true or false"),
        ("LIMIT_READ", "5 per minute", "requests per second, minute, hour or day.* The default is '6000/minute'"),
        ("LOG_LEVEL", "loud", "`debug`, `info`"),
        ("ENCRYPT", "some", "use 'none', 'agents' or 'all'"),
    ],
)
def test_a_wrong_value_is_told_what_to_write_instead(monkeypatch, name, value, remedy):
    monkeypatch.setenv(f"SCRUBJAY_{name}", value)
    with pytest.raises(Misconfigured, match=f"SCRUBJAY_{name} is '{value}': .*{remedy}"):
        read_settings()


def test_a_variable_that_is_misspelt_is_told(tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("SCRUBJAY_ENCRYPTED", "all")
    (tmp_path / ".env").write_text("SCRUBJAY_EMBEDER=static\n")
    read_settings()
    told = [record.getMessage() for record in caplog.records]
    assert [text for text in told if "SCRUBJAY_EMBEDER" in text and "SCRUBJAY_EMBEDDER" in text]
    assert [text for text in told if "SCRUBJAY_ENCRYPTED" in text and "SCRUBJAY_ENCRYPT'" in text]


def test_variables_of_others_are_left_alone(tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("SCRUBJAY_POSTGRES_PASSWORD", "x")
    (tmp_path / ".env").write_text("OTHER_TOOL=1\nEMBEDER=static\nSCRUBJAY_EMBEDDER=static\n")
    read_settings()
    assert not caplog.records


def test_the_key_is_not_shown():
    settings = read_settings(embedder_key="sk-very-secret")
    assert "very-secret" not in repr(settings)
    assert settings.embedder_key.get_secret_value() == "sk-very-secret"


def test_every_setting_has_a_description():
    assert all(field.description for field in Settings.model_fields.values())


def test_variables_that_programs_share_are_taken_where_ours_are_empty(monkeypatch, tmp_path):
    monkeypatch.setenv("DATABASE_URL", "postgres://app:secret@db/app")
    monkeypatch.setenv("REDIS_URL", "redis://cache:6379/2")
    monkeypatch.setenv("QDRANT_URL", "https://vectors:6333/")
    monkeypatch.setenv("EMBEDDING_PROVIDER", "openai")
    (tmp_path / ".env").write_text("OPENAI_API_KEY=from-the-file\n")
    settings = read_settings()
    assert settings.records == "postgresql://app:secret@db/app"
    assert settings.working.get_secret_value() == "redis://cache:6379/2"
    assert settings.vectors == "qdrants://vectors:6333"
    assert settings.embedder == "openai:text-embedding-3-small"
    assert settings.embedder_key.get_secret_value() == "from-the-file"
    monkeypatch.setenv("SCRUBJAY_RECORDS", "sqlite:///own.db")
    (tmp_path / ".env").write_text("SCRUBJAY_VECTORS=embedded\n")
    assert read_settings(embedder="minilm").model_dump(include={"records", "vectors", "embedder"}) == {
        "records": "sqlite:///own.db",
        "vectors": "embedded",
        "embedder": "minilm",
    }


def test_a_database_of_another_kind_is_not_ours(monkeypatch):
    monkeypatch.setenv("DATABASE_URL", "mysql://app@db/app")
    assert read_settings().records == ""
    monkeypatch.setenv("DATABASE_URL", "postgresql+asyncpg://app@db/app")
    assert read_settings().records == "postgresql://app@db/app"


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ({}, ""),
        ({"embedder": "openai:text-embedding-3-large"}, "sk-one"),
        ({"embedder": "openai:mine", "embedder_url": "http://127.0.0.1:1/v1"}, ""),
        ({"embedder": "ollama:nomic-embed-text"}, ""),
        ({"embedder": "openai:mine", "embedder_key": "own"}, "own"),
    ],
)
def test_a_key_of_openai_is_for_openai_only(monkeypatch, given, key):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-one")
    assert read_settings(**given).embedder_key.get_secret_value() == key
