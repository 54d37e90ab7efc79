"""scrubjay demo: what Scrubjay does, in half a minute, on a store that is thrown away after."""

import tempfile
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from scrubjay.doors.cli.output import memories, output, visible
from scrubjay.doors.cli.place import log_to_standard_error
from scrubjay.doors.cli.verb import verb
from scrubjay.doors.cli.views import receipt
from scrubjay.model import AsOf, Hits, Remembered

if TYPE_CHECKING:
    from scrubjay.sync import SyncScrubjay

PAUSE: Final = 1.2
"""Seconds to read what an act has shown."""

_OUTCOMES: Final = {"stored": "green", "superseded": "yellow", "unchanged": "dim"}


@verb
def demo(
    fast: Annotated[bool, typer.Option("--fast", help="Without pauses.")] = False,
) -> None:
    """See what Scrubjay does, in half a minute, on a store that is thrown away after."""
    play(output(), pause=0.0 if fast else PAUSE)


def play(console: Console, *, pause: float) -> None:
    """Play every act on this console. Nothing is staged: what is shown is what the library answered."""
    from scrubjay import wiring  # noqa: PLC0415 -- loads the database and the model's library; --help needs none

    log_to_standard_error()
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="scrubjay-demo-") as home:
        # Whatever the environment says, the demo never touches a store that is not its own.
        jay = wiring.open(home, records="", vectors="embedded", tenant="demo", redact=True, background=False)
        with jay:
            stage = Stage(console, jay, pause)
            stage.opening()
            for act in (
                remembering,
                recalling,
                changing,
                preparing,
                consolidating,
                separating,
                redacting,
                forgetting,
            ):
                act(stage)
    stage.ending(time.perf_counter() - began - stage.paused)


class Stage:
    """Where the acts are played: they show a command, do what it does, and show the answer."""

    def __init__(self, console: Console, jay: "SyncScrubjay", pause: float) -> None:
        self.jay = jay
        self.paused = 0.0
        self._console = console
        self._pause = pause
        self._act = 0

    def opening(self) -> None:
        """Say what this is."""
        title = Text("Scrubjay", style="bold cyan").append(" remembers what, where and when.", style="default not bold")
        line = Text("No network and no language model: a file, and a small model on this machine.", style="dim")
        self._console.print(Panel(Group(title, line), border_style="cyan", padding=(0, 2)))

    def act(self, title: str, said: str) -> None:
        """Begin an act."""
        if self._act:
            time.sleep(self._pause)
            self.paused += self._pause
        self._act += 1
        self._console.print()
        self._console.print(Rule(Text(f"{self._act}  {title}", style="bold cyan"), style="dim", align="left"))
        self._console.print(Text(said, style="dim"))

    def command(self, *words: str, outcome: str = "") -> None:
        """Show a command, with what became of it where that is one word."""
        quoted = [f'"{word}"' if " " in word else word for word in words]
        line = Text.assemble(("$ ", "bold green"), "scrubjay ", (quoted[0], "bold"), f" {' '.join(quoted[1:])}")
        self._console.print(line.append(f"  # {outcome}", style=_OUTCOMES[outcome]) if outcome else line)

    def answer(self, *answers: RenderableType) -> None:
        """Show what it answered."""
        self._console.print(Padding(Group(*answers), (0, 0, 0, 2)))

    def remember(self, content: str, *, shown: str = "", since: timedelta | None = None, **told: str) -> Remembered:
        """Remember something, and show that."""
        then = ["--valid-from", f"{since.days}d"] if since is not None else []
        moment = datetime.now(UTC) - since if since is not None else None
        done = self.jay.remember(content, valid_from=moment, **told)  # type: ignore[arg-type]  # names of a place or a detail
        self.command("remember", shown or content, *_options(told), *then, outcome=done.outcome)
        return done

    def recall(self, query: str, *, limit: int, days_ago: int | None = None, **where: str) -> Hits:
        """Ask something, and show the answers with their reasons."""
        then = ["--valid-at", f"{days_ago}d"] if days_ago is not None else []
        self.command("recall", query, *_options(where), *then, "-n", str(limit))
        as_of = AsOf(valid_at=datetime.now(UTC) - timedelta(days=days_ago)) if days_ago is not None else None
        found = self.jay.recall(query, limit=limit, as_of=as_of, **where)  # type: ignore[arg-type]  # names of a place
        self.answer(answers(found))
        return found

    def ending(self, seconds: float) -> None:
        """Say where to go next."""
        grid = Table.grid(padding=(0, 3))
        grid.add_column(style="bold")
        grid.add_column(style="dim")
        for command, what in (
            ('scrubjay remember "…" --user me', "remember something of your own"),
            ("scrubjay serve", "the same verbs over HTTP"),
            ("import scrubjay; jay = scrubjay.open()", "the same verbs in Python"),
            ("docs/tutorial", "the first half hour"),
        ):
            grid.add_row(command, what)
        self._console.print()
        title = Text(f"All of this took {seconds:.1f} s. Where to go next", style="bold cyan")
        self._console.print(Panel(grid, title=title, title_align="left", border_style="cyan", padding=(0, 2)))


def _options(given: Mapping[str, str]) -> list[str]:
    short = {"user": "-u", "project": "-p", "session": "-s", "kind": "-k"}
    return [word for name, value in given.items() for word in (short.get(name, f"--{name}"), value)]


def answers(found: Hits) -> RenderableType:
    """Hits, each with its reason below it."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold green")
    grid.add_column()
    for hit in found:
        said = Text(visible(hit.memory.content)).append(f"\n{hit.why}", style="green dim")
        grid.add_row(f"{hit.score:.2f}", said)
    return grid


def remembering(stage: Stage) -> None:
    """Two users, a project, and a conversation."""
    stage.act("Remember", "Preferences, facts and conversations, each in its place: a user, a project, a session.")
    stage.remember("Prefers tabs over spaces", user="ada", kind="preference", key="pref:indent")
    stage.remember("Two spaces, never tabs", user="bob", kind="preference", key="pref:indent")
    stage.remember("Refunds above 500 EUR need a second approval", project="shop", kind="rule")
    stage.remember("Invoices are numbered per country and year", project="shop", kind="fact")
    stage.remember("The checkout test fails on Safari", user="ada", project="shop", kind="message", session="s1")
    others = (  # so that there is something to choose from
        "The warehouse closes at six on Fridays",
        "Customer e-mails are sent through the queue, never inline",
        "The design review is every second Tuesday",
    )
    for line in others:
        stage.jay.remember(line, project="shop", kind="fact")
    stage.answer(Text(f"and {len(others)} more facts about the shop", style="dim"))


def recalling(stage: Stage) -> None:
    """By meaning and by words, with reasons."""
    stage.act("Recall", "By meaning and by words together. Every answer says why it is one.")
    stage.recall("is approval needed to pay a customer back?", user="ada", project="shop", limit=2)


def changing(stage: Stage) -> None:
    """A fact changes, and the past keeps its answer."""
    stage.act("Change", "A new value for a key replaces the old one. The past keeps its answer.")
    told = {"project": "shop", "key": "db"}
    stage.remember("Production runs PostgreSQL 14", since=timedelta(days=400), **told)
    stage.remember("Production runs PostgreSQL 17", since=timedelta(days=20), **told)
    stage.recall("which database is in production?", project="shop", limit=1)
    stage.recall("which database is in production?", project="shop", limit=1, days_ago=100)


def preparing(stage: Stage) -> None:
    """A context that fits its budget."""
    stage.act("Prepare", "What an agent should know before it acts, within a budget of tokens.")
    stage.command("context", "write the refund form for an invoice", "-u", "ada", "-p", "shop", "--budget", "60")
    context = stage.jay.context("write the refund form for an invoice", user="ada", project="shop", budget=60)
    counted = f"{context.tokens} of {context.budget} tokens, {memories(len(context.left_out))} left out"
    stage.answer(Text(visible(context.text)), Text(counted, style="green dim"))


CONVERSATION: Final = (
    ("user", "I prefer short answers, with the command first."),
    ("assistant", "Noted."),
    ("user", "From now on always run the linter before a release."),
    ("assistant", "Will do."),
    ("user", "We decided to release the new checkout behind a flag."),
    ("assistant", "Then the flag is called new-checkout, and it is off by default."),
)


def consolidating(stage: Stage) -> None:
    """A conversation becomes knowledge that the next one begins with."""
    stage.act("Consolidate", "A session is held in working memory. When it is over, it becomes knowledge.")
    here = ("-u", "ada", "-p", "web")
    for role, said in CONVERSATION:
        stage.jay.working.append(said, role=role, user="ada", project="web", session="monday")
    stage.command("working", "append", CONVERSATION[0][1], *here, "-s", "monday")
    stage.answer(*(Text(f"{role:>9}  {said}", style="" if role == "user" else "dim") for role, said in CONVERSATION))
    _asked_on_tuesday(stage, "before consolidation", *here)
    stage.command("working", "end", *here, "-s", "monday")
    stage.jay.working.end(user="ada", project="web", session="monday")
    stage.command("consolidate", *here)
    done = stage.jay.consolidate(user="ada", project="web")
    stage.answer(*(Text(str(step), style="green") for step in done if step.done))
    _asked_on_tuesday(stage, "after consolidation", *here)


def _asked_on_tuesday(stage: Stage, when: str, *here: str) -> None:
    stage.command("context", "release the checkout", *here, "-s", "tuesday", "--budget", "120")
    context = stage.jay.context("release the checkout", user="ada", project="web", session="tuesday", budget=120)
    counted = f"{when}: {context.tokens} of {context.budget} tokens"
    stage.answer(Text(visible(context.text)), Text(counted, style="green dim"))


def separating(stage: Stage) -> None:
    """Nobody sees another user's."""
    stage.act("Keep apart", "Bob asks what Ada prefers to indent with, and gets his own answer, never hers.")
    stage.recall("how does Ada indent, tabs or spaces?", user="bob", limit=1)


def redacting(stage: Stage) -> None:
    """A key never reaches the disk."""
    stage.act("Redact", "Credentials are taken out before anything is stored.")
    # Made here, so that no key, not even a false one, lies in the source.
    key = "AKIA" + "".join("QXLMRTZKWBNVHCDF"[place * 7 % 16] for place in range(16))
    done = stage.remember(f"Staging deploys with {key}", shown=f"Staging deploys with {key[:8]}…", project="shop")
    stage.command("get", str(done.id))
    stage.answer(Text(visible(stage.jay.get(done.id).content), style="yellow"))


def forgetting(stage: Stage) -> None:
    """Gone, with a receipt."""
    stage.act("Forget", "Closed by default, with its history. Purged on demand, from every index, with a receipt.")
    stage.command("forget", "--everything", "-u", "ada", "--purge", "--yes")
    stage.answer(receipt(stage.jay.forget(everything=True, user="ada", purge=True)))
