"""Commands about settings: config shows them, serve starts the server with them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Final

import typer

from scrubjay.doors.cli.output import write_json, write_table, write_text
from scrubjay.doors.cli.place import House
from scrubjay.doors.cli.verb import AsJson, verb
from scrubjay.errors import InvalidInput

_PASSWORD: Final = re.compile(r"(://[^/:@\s]*):[^@/\s]*@")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A setting as it may be shown."""

    name: str
    value: str
    source: str
    """`default`, `environment`, `.env`, `command line`, or a variable that other programs share: `DATABASE_URL`."""


@verb
def config(
    here: House,
    name: Annotated[str | None, typer.Argument(help="One setting, such as `home`, to print only its value.")] = None,
    json: AsJson = False,
) -> None:
    """Show every setting, its value, and where that comes from. Secrets stay hidden."""
    found = list(in_force(here))
    if name is not None:
        wanted = name.lower().removeprefix("scrubjay_")
        found = [one for one in found if one.name == wanted]
        if not found:
            raise InvalidInput(f"{name} is not a setting: `scrubjay config` shows all of them")
    if json:
        write_json({one.name: {"value": one.value, "source": one.source} for one in found})
    elif name is not None:
        write_text(found[0].value)
    else:
        write_table(
            ("setting", "value", "from"), [(f"SCRUBJAY_{one.name.upper()}", one.value, one.source) for one in found]
        )
    # Last, so that all of them are shown also when one is wrong.
    here.settings()


def in_force(here: House) -> Iterator[Shown]:
    """Every setting as it was given, right or wrong."""
    from pydantic import SecretStr  # noqa: PLC0415 -- pydantic takes a while; --help needs none of it
    from pydantic_settings import DotEnvSettingsSource, EnvSettingsSource  # noqa: PLC0415 -- the same

    from scrubjay.settings import Settings  # noqa: PLC0415 -- the same
    from scrubjay.usual_variables import USUAL, UsualVariables  # noqa: PLC0415 -- the same

    sources = {
        "command line": here.given,
        "environment": EnvSettingsSource(Settings)(),
        ".env": DotEnvSettingsSource(Settings)(),
    }
    for name, value in UsualVariables(Settings)().items():
        sources.setdefault(USUAL[name], {})[name] = value
    for name, field in Settings.model_fields.items():
        source = next((source for source, values in sources.items() if name in values), "default")
        value = sources[source][name] if source != "default" else field.get_default(call_default_factory=True)
        hidden = field.annotation is SecretStr
        given = value.get_secret_value() if isinstance(value, SecretStr) else str(value)
        plain = given.lower() if isinstance(value, bool) else _PASSWORD.sub(r"\1:***@", given)
        yield Shown(name=name, value="(hidden)" if hidden and given else plain, source=source)


@verb
def serve(
    here: House,
    host: Annotated[str | None, typer.Option(help="The address to listen on (SCRUBJAY_HOST).")] = None,
    port: Annotated[int | None, typer.Option(help="The port; 0 picks a free one (SCRUBJAY_PORT).")] = None,
    workers: Annotated[int | None, typer.Option(help="How many processes serve it (SCRUBJAY_WORKERS).")] = None,
) -> None:
    """Start the server: the same verbs over HTTP, until Ctrl-C."""
    from scrubjay.doors.http import serve as serve_http  # noqa: PLC0415 -- loads the store; --help needs none of it
    from scrubjay.settings import read_settings  # noqa: PLC0415 -- the same

    serve_http(read_settings(**here.given, host=host, port=port, workers=workers))
