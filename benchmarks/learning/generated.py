"""Generated histories: tasks of several families, tools and words by chance, and effects that are known."""

import random
from collections.abc import Iterator
from dataclasses import dataclass

from scrubjay.model.tasks import Execution

VERBS = ("deploy", "migrate", "refactor", "document", "profile", "localize", "secure", "archive", "import", "render")
THINGS = (
    ("billing", "invoice", "payment"),
    ("search", "ranking", "query"),
    ("login", "session", "token"),
    ("report", "chart", "export"),
    ("upload", "image", "thumbnail"),
    ("mail", "digest", "template"),
    ("cart", "order", "discount"),
    ("map", "route", "marker"),
    ("chat", "message", "thread"),
    ("backup", "snapshot", "restore"),
)
TOOLS = ("read", "grep", "edit", "run", "build", "lint", "format", "commit", "push", "review", "fetch", "plan")
WORDS = tuple(
    f"{start}{end}"
    for start in ("al", "ber", "cor", "dan", "el", "fin", "gor", "hul", "in", "jar", "kel", "lom")
    for end in ("ba", "cu", "dor", "fen", "gis", "hu", "kam", "lin", "mor", "nas")
)
MODELS = ("small", "medium", "large")
ERRORS = ("Timeout after {} s", "KeyError: 'user_{}'", "cannot open /tmp/{}/data.csv", "port {} is taken")


@dataclass(frozen=True)
class Planted:
    """One effect: executions of a family that have the trait succeed so much more often than others."""

    family: int
    kind: str
    what: tuple[str, ...]
    with_it: float
    without: float


def planted(chance: random.Random, families: int) -> list[Planted]:
    """One effect for each family, of a kind by chance: two tools in order, a tool, a model, an error or a word."""
    effects = []
    for family in range(families):
        kind = chance.choice(("order", "tool", "model", "error", "word"))
        good = chance.random() < 0.5 and kind != "error"
        with_it, without = (0.85, 0.35) if good else (0.15, 0.65)
        match kind:
            case "order":
                what = ("stage", "verify")
            case "tool":
                what = ("sandbox",)
            case "model":
                what = (chance.choice(MODELS),)
            case "error":
                what = ("disk quota exceeded on <path>",)
            case _:
                what = ("rollback",)
        effects.append(Planted(family, kind, what, with_it, without))
    return effects


def executions(
    chance: random.Random, many: int, families: int, effects: list[Planted]
) -> Iterator[tuple[int, Execution]]:
    """So many executions, each with the family it was made for."""
    by_family = {effect.family: effect for effect in effects}
    for number in range(many):
        family = chance.randrange(families)
        thing = THINGS[family % len(THINGS)]
        verb = VERBS[(family + family // len(THINGS)) % len(VERBS)]
        tools = [chance.choice(TOOLS) for _ in range(chance.randint(3, 8))]
        words = [chance.choice(WORDS) for _ in range(20)]
        errors = [chance.choice(ERRORS).format(chance.randint(1, 9999))] if chance.random() < 0.3 else []
        model = chance.choice(MODELS)
        effect = by_family.get(family)
        success = chance.random() < 0.5
        if effect is not None:
            has_it = model == effect.what[0] if effect.kind == "model" else chance.random() < 0.4
            success = chance.random() < (effect.with_it if has_it else effect.without)
            match effect.kind:
                case "order":
                    place = chance.randrange(len(tools))
                    pair = effect.what if has_it else effect.what[::-1]
                    tools[place:place] = [pair[0]]
                    tools.insert(chance.randint(place + 1, len(tools)), pair[1])
                case "tool" if has_it:
                    tools.insert(chance.randint(0, len(tools)), effect.what[0])
                case "error" if has_it:
                    errors.append(f"disk quota exceeded on /srv/{chance.randint(1, 99)}/spool")
                case "word" if has_it:
                    words.insert(chance.randint(0, len(words)), effect.what[0])
        yield (
            family,
            Execution(
                task_id=f"task-{number}",
                task_description=f"{verb} the {chance.choice(thing)} {thing[0]} module for {chance.choice(WORDS)}",
                execution_summary=" ".join(words),
                success=success,
                tools=tuple(tools),
                error_patterns=tuple(errors),
                model=model,
            ),
        )
