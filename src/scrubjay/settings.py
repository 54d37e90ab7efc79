"""With `usual_variables` the only reader of the environment. Every setting has a default: none at all must work."""

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Final, get_args

from platformdirs import user_data_path
from pydantic import AfterValidator, Field, SecretStr, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError
from pydantic_settings import SettingsConfigDict

from scrubjay.errors import Misconfigured
from scrubjay.logs import logger
from scrubjay.model import DEFAULT_TENANT
from scrubjay.model.access import RouteClass
from scrubjay.model.encryption import Encrypt, EncryptedSearch
from scrubjay.model.remedies import instead, misspelt, wanted
from scrubjay.model.work import Fading, Policy
from scrubjay.model.working import Durability, Source
from scrubjay.model.workspace import WorkspaceRules
from scrubjay.usual_variables import WithUsualVariables, variables

log = logger("settings")

_PREFIX: Final = "scrubjay_"
_FADING: Final = r"^$|^[a-z0-9][a-z0-9_-]*:[1-9]\d{0,4}:(0\.\d+|1)(,[a-z0-9][a-z0-9_-]*:[1-9]\d{0,4}:(0\.\d+|1))*$"
_URL: Final = re.compile(r"[a-z][a-z0-9+]+:/")
_LIMIT: Final = r"^(0|[1-9][0-9]{0,8}/(second|minute|hour|day))$"


def _check_folder(value: Path) -> Path:
    """Refuse the URL of a database: it would be the name of a folder beside the program."""
    if _URL.match(str(value)):
        raise PydanticCustomError("folder", "use the path of a folder. The URL of a database belongs into `records`")
    return value


class Settings(WithUsualVariables):
    """Where memories live and how they are found. Each is read from SCRUBJAY_<NAME>, or from a `.env` file."""

    # A variable that is set to nothing means the default, as it would in a shell script.
    model_config = SettingsConfigDict(
        env_prefix="SCRUBJAY_", env_file=".env", env_ignore_empty=True, extra="ignore", frozen=True
    )

    home: Annotated[
        Path,
        Field(description="The folder that holds everything of the embedded profile."),
        AfterValidator(_check_folder),
    ] = Field(default_factory=lambda: user_data_path("scrubjay", appauthor=False))
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
    mirror: Annotated[
        str,
        Field(
            pattern="^(auto|on|off)$",
            description="Keep the vectors in the record store too, so that search by meaning answers while the engine "
            "is down, and the engine can be rebuilt without embedding anything again: `auto` (for an engine on a "
            "server), `on` (also for `pgvector:` and `chroma:`) or `off`.",
        ),
    ] = "auto"
    working: Annotated[
        SecretStr,
        Field(
            description="Redis for vectors, events and limits that processes share: `redis://`, `rediss://`, "
            "`redis+sentinel://HOST:PORT,HOST:PORT/MASTER` or `redis+cluster://HOST:PORT`. Empty: none are shared."
        ),
    ] = SecretStr("")
    working_durability: Annotated[
        Durability,
        Field(description="Where sessions are until they are drained: `records`, or `redis`, which may lose them."),
    ] = "records"
    working_ttl: Annotated[
        int,
        Field(ge=1, le=315_360_000, description="Seconds that a session lives after the last thing that happened."),
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
    reranker: Annotated[
        str,
        Field(
            description="A model that reads the question and each of the best memories together and has a say in their "
            "order: `onnx:FOLDER` (with model.onnx and tokenizer.json), `server:MODEL` (any server with /rerank), "
            "`tei` or `sentence-transformers:MODEL`. Empty: none."
        ),
    ] = ""
    reranker_url: Annotated[str, Field(description="The base URL of the reranker's server.")] = ""
    reranker_key: Annotated[SecretStr, Field(description="The API key for the reranker's server.")] = SecretStr("")
    reranker_weight: Annotated[
        float,
        Field(
            ge=0,
            le=10,
            description="How much the reranker counts beside everything else. Measured with a small model; a large one "
            "may deserve 1 or 2.",
        ),
    ] = 0.5
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
    encrypt: Annotated[
        Encrypt,
        Field(
            description="What is encrypted at rest: `none`, `agents` (their directives, states, proposals, results and "
            "files) or `all` (every memory, session and file). A key is needed."
        ),
    ] = "none"
    encryption_key: Annotated[
        SecretStr,
        Field(
            description="The master key: 32 random bytes in base 64, as `scrubjay keys generate` prints them. Several, "
            "with commas between: the first wraps, all of them open."
        ),
    ] = SecretStr("")
    encryption_key_file: Annotated[
        str, Field(description="The file that holds the master key instead, or several, one on a line.")
    ] = ""
    encrypted_search: Annotated[
        EncryptedSearch,
        Field(
            description="How encrypted memories are found: `none` (by place, key and time), `meaning` (their vectors "
            "are stored, and tell what they are about) or `words` (their words are stored too, in no order)."
        ),
    ] = "meaning"
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
    prune_namespaces: Annotated[
        str,
        Field(
            pattern=_FADING,
            description="How records of agents fade: a namespace, the days after which, and the relevance below which "
            "they are forgotten, such as `long-term:180:0.3,short-term:7:1`. Empty: never.",
        ),
    ] = ""
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
    request_bytes: Annotated[
        int, Field(ge=1_024, le=1_073_741_824, description="The largest body of an HTTP request; imports are streamed.")
    ] = 16_777_216
    request_seconds: Annotated[
        float, Field(gt=0, le=3_600, description="How long an HTTP request may take; ten times that for heavy ones.")
    ] = 60
    turns: Annotated[int, Field(ge=0, description="Reads of one tenant that a process does at a time. 0: any.")] = 4
    longest_wait: Annotated[
        float, Field(ge=0, description="Seconds that a request may wait behind others; more is refused, 503. 0: any.")
    ] = 1.0
    limit_read: Annotated[
        str,
        Field(
            pattern=_LIMIT,
            description="What one API key may read: requests per second, minute, hour or day. 0: as much as it likes.",
        ),
    ] = "6000/minute"
    limit_write: Annotated[
        str, Field(pattern=_LIMIT, description="The same, for storing, changing and forgetting.")
    ] = "3000/minute"
    limit_heavy: Annotated[
        str, Field(pattern=_LIMIT, description="The same, for import, export, consolidation and the like.")
    ] = "60/minute"
    limit_failed: Annotated[
        str,
        Field(pattern=_LIMIT, description="The same, for one address and its keys that are not valid."),
    ] = "60/minute"
    audit_days: Annotated[
        float, Field(ge=0, description="Entries of the audit log that are older are deleted. 0: never.")
    ] = 0
    workers: Annotated[
        int, Field(ge=1, le=64, description="Processes of `scrubjay serve`, on one address. One per core is enough.")
    ] = 1
    log_level: Annotated[
        str,
        Field(
            pattern="^(debug|info|warning|error)$",
            description="From which level on `scrubjay serve` and `scrubjay work` log: `debug`, `info` (a line for "
            "each request), `warning` or `error`.",
        ),
    ] = "info"
    metrics_tenant: Annotated[
        bool, Field(description="Tell tenants apart in /metrics. Off: a service may have many thousands of them.")
    ] = False
    tracing: Annotated[
        bool,
        Field(description="Send traces, as the standard OTEL_ variables say (extra `otel`). They hold no content."),
    ] = False
    url: Annotated[
        str,
        Field(
            description="A Scrubjay server that `scrubjay mcp` works with, such as `http://127.0.0.1:7285`. Empty: the "
            "memory of this machine."
        ),
    ] = ""
    key: Annotated[SecretStr, Field(description="The API key for the server at SCRUBJAY_URL.")] = SecretStr("")
    mcp_user: Annotated[str, Field(description="Whose memories `scrubjay mcp` works with by itself.")] = ""
    mcp_project: Annotated[
        str,
        Field(
            description="The project that `scrubjay mcp` works in, unless a call names one. `.`: the repository that "
            "it is started in."
        ),
    ] = ""
    mcp_agent: Annotated[str, Field(description="The agent that `scrubjay mcp` works for, if a call names none.")] = ""

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
            namespaces={
                name: Fading(after=timedelta(days=float(days)), below=float(below))
                for name, days, below in (one.split(":") for one in self.prune_namespaces.split(",") if one)
            },
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
    def limits(self) -> dict[RouteClass, str]:
        """What one key may ask for, by class; and one address whose keys are not valid."""
        return {name: getattr(self, f"limit_{name}") for name in get_args(RouteClass)}

    @property
    def records_url(self) -> str:
        """The record store's URL, with the default filled in."""
        return self.records or f"sqlite:///{self.home.expanduser().absolute() / 'scrubjay.db'}"


def read_settings(**given: object) -> Settings:
    """Read the environment; what is given by name wins over it. Raises Misconfigured, naming each wrong setting.

    A variable whose name looks like a misspelt setting is logged: it sets nothing, and somebody thinks it does.
    """
    unknown = sorted(set(given) - set(Settings.model_fields))
    if unknown:
        remedy = instead(unknown[0], list(Settings.model_fields))
        raise Misconfigured(f"{', '.join(unknown)}: no such setting, {remedy}")
    for name, right in misspelt(_variables(), Settings.model_fields.keys()).items():
        log.warning("no such setting", variable=f"{_PREFIX}{name}".upper(), instead=f"{_PREFIX}{right}".upper())
    try:
        return Settings(**{name: value for name, value in given.items() if value is not None})  # type: ignore[arg-type]  # pydantic checks them
    except ValidationError as error:
        raise Misconfigured("; ".join(_fault(one) for one in error.errors())) from error


def _variables() -> Iterator[str]:
    """What is set in the environment and the `.env` file, as names of settings. Others may begin theirs like ours."""
    return (name[len(_PREFIX) :] for name in map(str.lower, variables(Settings)) if name.startswith(_PREFIX))


def _fault(error: ErrorDetails) -> str:
    """One wrong setting: its name, its value, and what to write instead."""
    name, use = str(error["loc"][0]), wanted(error)
    remedy = f"use {use}" if use else error["msg"]
    if error["type"] == "string_pattern_mismatch":
        remedy = "{0.description} The default is {0.default!r}".format(Settings.model_fields[name])
    return f"SCRUBJAY_{name.upper()} is {error['input']!r}: {remedy}"
