"""The only reader of the environment. Every setting has a default: no configuration at all must work."""

from pathlib import Path
from typing import Annotated

from platformdirs import user_data_path
from pydantic import Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from scrubjay.errors import Misconfigured
from scrubjay.model import DEFAULT_TENANT


class Settings(BaseSettings):
    """Where memories live and how they are found. Each is read from SCRUBJAY_<NAME>, or from a `.env` file."""

    # A variable that is set to nothing means the default, as it would in a shell script.
    model_config = SettingsConfigDict(
        env_prefix="SCRUBJAY_", env_file=".env", env_ignore_empty=True, extra="ignore", frozen=True
    )

    home: Annotated[Path, Field(description="The folder that holds everything of the embedded profile.")] = Field(
        default_factory=lambda: user_data_path("scrubjay", appauthor=False)
    )
    records: Annotated[
        str, Field(description="The record store: a sqlite:/// or postgresql:// URL. Empty: a file in SCRUBJAY_HOME.")
    ] = ""
    vectors: Annotated[
        str,
        Field(
            description="The vector engine: `embedded` (in the record store, searched in process), `pgvector:` (in the "
            "same PostgreSQL) or `qdrant://HOST:PORT`."
        ),
    ] = "embedded"
    vectors_key: Annotated[SecretStr, Field(description="The API key for the vector engine.")] = SecretStr("")
    working: Annotated[
        SecretStr,
        Field(
            description="Redis for working memory, the shared embedding cache and events between processes: "
            "`redis://`, `rediss://`, `redis+sentinel://HOST:PORT,HOST:PORT/MASTER` or `redis+cluster://HOST:PORT`. "
            "Empty: the record store serves."
        ),
    ] = SecretStr("")
    language: Annotated[
        str,
        Field(pattern="^[a-z_]+$", description="The language whose word endings PostgreSQL knows: any it can stem."),
    ] = "english"
    tenant: Annotated[str, Field(description="The tenant of the library and the command line.")] = DEFAULT_TENANT
    embedder: Annotated[
        str,
        Field(
            description="The embedding model: `minilm` (bundled), `static`, `none`, `openai:MODEL`, `ollama:MODEL` "
            "or `sentence-transformers:MODEL`."
        ),
    ] = "minilm"
    embedder_url: Annotated[
        str, Field(description="The base URL of the OpenAI-compatible or Ollama server. Empty: the provider's own.")
    ] = ""
    embedder_key: Annotated[SecretStr, Field(description="The API key for the embedding server.")] = SecretStr("")
    threads: Annotated[
        int, Field(ge=0, le=256, description="Threads for the bundled model. 0: as many as there are cores.")
    ] = 0
    tokenizer: Annotated[
        str,
        Field(
            pattern="^(auto|wordpiece|o200k)$",
            description="How budgets count tokens: `o200k` (extra `tokens`), `wordpiece` (bundled), or `auto`.",
        ),
    ] = "auto"
    redact: Annotated[bool, Field(description="Replace credentials and private keys before anything is stored.")] = True
    background: Annotated[bool, Field(description="Index what waits in the background while the memory is open.")] = (
        True
    )
    host: Annotated[str, Field(description="The address that `scrubjay serve` listens on.")] = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535, description="The port of `scrubjay serve`; 0 picks a free one.")] = 7285

    @property
    def records_url(self) -> str:
        """The record store's URL, with the default filled in."""
        return self.records or f"sqlite:///{self.home.expanduser().absolute() / 'scrubjay.db'}"


def read_settings(**given: object) -> Settings:
    """Read the environment; what is given by name wins over it. Raises Misconfigured, naming each wrong setting."""
    unknown = sorted(set(given) - set(Settings.model_fields))
    if unknown:
        known = ", ".join(Settings.model_fields)
        raise Misconfigured(f"{', '.join(unknown)}: no such setting. There are {known}")
    try:
        return Settings(**{name: value for name, value in given.items() if value is not None})  # type: ignore[arg-type]  # pydantic checks them
    except ValidationError as error:
        faults = "; ".join(
            f"SCRUBJAY_{str(fault['loc'][0]).upper()} is {fault['input']!r}: {fault['msg']}" for fault in error.errors()
        )
        raise Misconfigured(faults) from error
