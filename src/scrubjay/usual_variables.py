"""Variables that programs share, such as DATABASE_URL: each is taken where Scrubjay's own setting is empty."""

import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, DotEnvSettingsSource, PydanticBaseSettingsSource

USUAL: Final = {
    "records": "DATABASE_URL",
    "working": "REDIS_URL",
    "vectors": "QDRANT_URL",
    "embedder": "EMBEDDING_PROVIDER",
    "embedder_key": "OPENAI_API_KEY",
    "chat_key": "OPENAI_API_KEY",
}
"""By setting: the variable that is read when SCRUBJAY_<NAME> is not set."""

_MODELS: Final = {
    "openai": "openai:text-embedding-3-small",
    "ollama": "ollama:nomic-embed-text",
    "sentence-transformers": "sentence-transformers:all-MiniLM-L6-v2",
    "local": "minilm",
}
"""By provider: the model that stands for it."""


_OPENAI: Final = ("embedder", "embedder_url", "chat", "chat_url")
"""What says whether a key of OpenAI's goes to OpenAI."""


class UsualVariables(PydanticBaseSettingsSource):
    """The last place to look for a setting, before its default."""

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:  # noqa: ARG002 -- pydantic's shape
        """The value of one setting, its name, and that it is no JSON."""
        return self().get(field_name), field_name, False

    def __call__(self) -> dict[str, str]:
        """The settings that such a variable gives."""
        found = variables(self.settings_cls)
        own = {name: found[f"SCRUBJAY_{name.upper()}"] for name in _OPENAI if f"SCRUBJAY_{name.upper()}" in found}
        return from_usual(found, {**own, **{name: str(value) for name, value in self.current_state.items()}})


class WithUsualVariables(BaseSettings):
    """Settings that are looked for in these variables too."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """What is given, the environment, `.env`, and then the usual variables."""
        return init_settings, env_settings, dotenv_settings, file_secret_settings, UsualVariables(settings_cls)


def variables(settings: type[BaseSettings]) -> dict[str, str]:
    """What is set in the `.env` file and the environment, which wins."""
    written = DotEnvSettingsSource(settings).env_vars if Path(".env").is_file() else {}
    return {name.upper(): value for name, value in (*written.items(), *os.environ.items()) if value}


def from_usual(variables: Mapping[str, str], own: Mapping[str, str] = MappingProxyType({})) -> dict[str, str]:
    """The settings that these variables give, beside Scrubjay's own.

    A database that Scrubjay cannot use is left to the program it is of, and OpenAI's key is given to OpenAI only.
    """
    found = {setting: variables[name].strip() for setting, name in USUAL.items() if variables.get(name, "").strip()}
    if "records" in found:
        scheme, _, rest = found["records"].partition("://")
        driverless = scheme.partition("+")[0]
        family = "postgresql" if driverless == "postgres" else driverless
        if family in ("postgresql", "sqlite"):
            found["records"] = f"{family}://{rest}"
        else:
            del found["records"]
    if "vectors" in found:
        scheme, _, rest = found["vectors"].rpartition("://")
        found["vectors"] = f"{'qdrants' if scheme == 'https' else 'qdrant'}://{rest.rstrip('/')}"
    if "embedder" in found:
        found["embedder"] = _MODELS.get(found["embedder"].lower(), found["embedder"])
    for model in ("embedder", "chat"):
        is_openai = (own.get(model) or found.get(model, "")).startswith("openai:")
        if not is_openai or own.get(f"{model}_url"):
            found.pop(f"{model}_key", None)
    return found
