"""The only reader of the environment. Every setting has a default: no configuration at all must work."""

from datetime import timedelta
from pathlib import Path
from typing import Annotated

from platformdirs import user_data_path
from pydantic import Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from scrubjay.errors import Misconfigured
from scrubjay.model import DEFAULT_TENANT
from scrubjay.model.work import Policy
from scrubjay.model.working import Source
from scrubjay.model.workspace import WorkspaceRules


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
            "same PostgreSQL), `qdrant://HOST:PORT`, `chroma://HOST:PORT` or `chroma:` (in process, in a folder beside "
            "the SQLite file; `chroma:/PATH` names another)."
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
    working_ttl: Annotated[
        int,
        Field(
            ge=1,
            le=315_360_000,
            description="Seconds that a session of working memory lives after the last thing that happened in it.",
        ),
    ] = 86_400
    working_source: Annotated[
        Source,
        Field(
            description="Where the messages of a session are read: `both` (working memory, then what was drained from "
            "it into the record store), `working` or `records`."
        ),
    ] = "both"
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
    embedder_fallback: Annotated[
        str,
        Field(
            description="Models that stand in, in this order, while the embedding model cannot answer, such as "
            "`ollama:nomic-embed-text,minilm`. `MODEL@URL` names another server than the provider's own."
        ),
    ] = ""
    embedder_url: Annotated[
        str, Field(description="The base URL of the OpenAI-compatible or Ollama server. Empty: the provider's own.")
    ] = ""
    embedder_key: Annotated[SecretStr, Field(description="The API key for the embedding server.")] = SecretStr("")
    chat: Annotated[
        str,
        Field(
            description="A language model that may write summaries when sessions are distilled: `openai:MODEL` (any "
            "server that speaks its protocol) or `ollama:MODEL`. Empty: summaries are made of what was said."
        ),
    ] = ""
    chat_url: Annotated[
        str, Field(description="The base URL of the language model's server. Empty: the provider's own.")
    ] = ""
    chat_key: Annotated[SecretStr, Field(description="The API key for the language model's server.")] = SecretStr("")
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
    decay_days: Annotated[
        float,
        Field(ge=0, description="The importance of what nobody uses falls to half in so many days. 0: never."),
    ] = 90
    archive: Annotated[
        str, Field(description="The folder for archived episodes. Empty: `archive` in SCRUBJAY_HOME.")
    ] = ""
    archive_days: Annotated[
        float,
        Field(ge=0, description="Episodes that are older, distilled and unused move into the archive. 0: never."),
    ] = 0
    prune_days: Annotated[
        float,
        Field(
            ge=0,
            description="What was neither told nor used for so many days, and is of little importance, is forgotten. "
            "0: never.",
        ),
    ] = 0
    prune_importance: Annotated[
        float, Field(ge=0, le=1, description="Importance below which SCRUBJAY_PRUNE_DAYS forgets.")
    ] = 0.2
    prune_count: Annotated[
        int,
        Field(ge=0, description="The most memories of a user's project; over it, the least useful go. 0: any."),
    ] = 0
    prune_bytes: Annotated[int, Field(ge=0, description="The same, for the bytes that their texts take. 0: any.")] = 0
    workspace_enabled: Annotated[
        bool, Field(description="Whether completed jobs and repositories are remembered. Off: nothing is touched.")
    ] = True
    workspace_embeddings: Annotated[
        bool, Field(description="Whether these are found by meaning too. Off: by words, paths and symbols only.")
    ] = True
    workspace_rejected: Annotated[
        bool, Field(description="Keep the losers of a duel as examples; they are never given as advice.")
    ] = False
    workspace_file_bytes: Annotated[
        int, Field(ge=0, le=67_108_864, description="The largest text file of a job that is kept whole.")
    ] = 65_536
    workspace_head: Annotated[
        int, Field(ge=0, le=1_000_000, description="Characters that are kept of a larger text file.")
    ] = 4_000
    workspace_completion_bytes: Annotated[
        int, Field(ge=0, le=1_073_741_824, description="The most that is kept of the files of one job.")
    ] = 1_048_576
    workspace_bytes: Annotated[
        int,
        Field(ge=0, description="The most that is kept for one repository; over it, the oldest jobs go. 0: any."),
    ] = 268_435_456
    workspace_days: Annotated[
        float, Field(ge=0, description="Jobs that were done longer ago are deleted. 0: never.")
    ] = 0
    host: Annotated[str, Field(description="The address that `scrubjay serve` listens on.")] = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535, description="The port of `scrubjay serve`; 0 picks a free one.")] = 7285

    @property
    def archive_folder(self) -> Path:
        """The folder for archived episodes, with the default filled in."""
        return Path(self.archive).expanduser() if self.archive else self.home.expanduser().absolute() / "archive"

    @property
    def policy(self) -> Policy:
        """How long memories are kept as they are."""
        return Policy(
            half_life=timedelta(days=self.decay_days) if self.decay_days else None,
            archive_after=timedelta(days=self.archive_days) if self.archive_days else None,
            prune_after=timedelta(days=self.prune_days) if self.prune_days else None,
            prune_below=self.prune_importance,
            most_memories=self.prune_count or None,
            most_bytes=self.prune_bytes or None,
        )

    @property
    def workspace(self) -> WorkspaceRules:
        """How much of completed jobs is kept, and for how long."""
        return WorkspaceRules(
            enabled=self.workspace_enabled,
            embeddings=self.workspace_embeddings,
            keep_rejected=self.workspace_rejected,
            head=self.workspace_head,
            file_bytes=self.workspace_file_bytes,
            completion_bytes=self.workspace_completion_bytes,
            workspace_bytes=self.workspace_bytes or None,
            keep_for=timedelta(days=self.workspace_days) if self.workspace_days else None,
        )

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
