"""What an extractive summary keeps of what is asked about later, at equal numbers of tokens.

    python benchmarks/distill/run.py --data FOLDER            # a few minutes
    python benchmarks/distill/run.py --data FOLDER --quick    # fewer sessions, no vectors

FOLDER holds `recall/locomo`, `recall/beam` and `recall/longmemeval_s`. Questions of these sets name the turns that
answer them. A summary of a session is good when it keeps the words of those turns (kept), has something of each of them
(touched), and is found when the question is asked of summaries alone (R@5).
"""

import argparse
import asyncio
import json
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from math import log
from pathlib import Path

from rich.console import Console
from rich.table import Table

from scrubjay.memories.distill.dates import dates_of
from scrubjay.memories.distill.ranking import Ranked, ranked
from scrubjay.memories.distill.summary import Embed, _line, summarize
from scrubjay.model import Memory, Scope, Trust, new_id
from scrubjay.model.words import terms_of, words_of
from scrubjay.models import embedder_of, tokens_of

SHARES = {"locomo": (0.10, 0.25), "beam": (0.02, 0.10), "longmemeval_s": (0.25, 0.50)}
"""Of the tokens of a session: long ones leave less, and those of the last set have only a few sentences."""

SEEDS = 5
LATER = datetime(2030, 1, 1, tzinfo=UTC)
TRUST = {"assistant": Trust.CONCLUDED}

tokens = tokens_of("auto")
console = Console(width=120)


@dataclass
class Session:
    """The turns of one session, its sentences, and how often each turn is evidence."""

    group: str
    rows: list[dict]
    memories: list[Memory]
    sentences: list[Ranked]
    size: int


def memory_of(row: dict) -> Memory:
    role = row.get("role")
    at = datetime.fromisoformat(row.get("time", "2024-01-15T00:00:00+00:00"))
    return Memory(
        id=new_id(),
        kind="message",
        content=row["text"],
        scope=Scope(session=row["session"]),
        author=row.get("speaker"),
        data={"role": role} if role else {},
        trust=TRUST.get(role, Trust.TOLD),
        created_at=at,
        valid_from=at,
    )


def sessions_of(folder: Path, most: int | None) -> tuple[list[Session], list[dict]]:
    rows = defaultdict(list)
    for line in (folder / "corpus.jsonl").read_text().splitlines():
        row = json.loads(line)
        rows[row["session"]].append(row)
    questions = [json.loads(line) for line in (folder / "queries.jsonl").read_text().splitlines()]
    found = []
    for turns in list(rows.values())[:most]:
        memories = [memory_of(row) for row in turns]
        dates = [
            dated for memory in memories for dated in dates_of(memory.content, said=memory.valid_from, source=memory.id)
        ]
        sentences = ranked(memories, dates)
        size = sum(tokens.count(f"{memory.content}\n") for memory in memories)
        found.append(Session(turns[0]["group"], turns, memories, sentences, size))
    return found, questions


# Ways to choose


@cache
def cost(memory: Memory, start: int, text: str) -> int:
    return tokens.count(_line([Ranked(memory, start, start + len(text), text)]) + "\n")


def in_order(sentences: Sequence[Ranked], budget: int) -> list[Ranked]:
    """As many as fit, one after the other."""
    kept, left = [], budget
    for one in sentences:
        tokens_taken = cost(one.memory, one.start, one.text)
        if tokens_taken <= left:
            kept.append(one)
            left -= tokens_taken
    return kept


def by_chance(seed: int) -> Callable[[Session, int], list[Ranked]]:
    def choose(session: Session, budget: int) -> list[Ranked]:
        shuffled = list(session.sentences)
        random.Random(f"{seed} {session.rows[0]['id']}").shuffle(shuffled)
        return in_order(shuffled, budget)

    return choose


def lead(session: Session, budget: int) -> list[Ranked]:
    return in_order(session.sentences, budget)


def central(session: Session, budget: int) -> list[Ranked]:
    """Nearest to the centre of all: how news are summarized."""
    centre: Counter[str] = Counter()
    for one in session.sentences:
        centre.update(one.words)
    return in_order(
        sorted(session.sentences, key=lambda one: -sum(weight * centre[word] for word, weight in one.words.items())),
        budget,
    )


def ours(embed: Embed | None = None) -> Callable[[Session, int], list[Ranked]]:
    def choose(session: Session, budget: int) -> list[Ranked]:
        for one in session.sentences:
            one.vector = None
        summary = summarize(session.sentences, tokens=tokens, budget=budget, embed=embed)
        assert summary is None or summary.tokens <= budget
        places = {(one.source, one.start) for one in summary.sentences} if summary else set()
        return [one for one in session.sentences if (one.memory.id, one.start) in places]

    return choose


# What they keep


def kept(sessions: list[Session], questions: list[dict], choose: Callable, share: float) -> tuple[float, float]:
    evidence = Counter(turn for question in questions for turn in question["relevant"])
    total = touched = mass = 0.0
    for session in sessions:
        asked = {row["id"]: evidence[row["id"]] for row in session.rows if evidence[row["id"]]}
        if not asked:
            continue
        names = {memory.id: row["id"] for memory, row in zip(session.memories, session.rows, strict=True)}
        whole, part = Counter(), Counter()
        for one in session.sentences:
            whole[names[one.memory.id]] += one.told
        for one in choose(session, max(20, int(share * session.size))):
            part[names[one.memory.id]] += one.told
        for turn, times in asked.items():
            total += times
            touched += times * (part[turn] > 0)
            mass += times * part[turn] / (whole[turn] or 1)
    return mass / total, touched / total


def found(sessions: list[Session], questions: list[dict], choose: Callable, share: float) -> float:
    """R@5 of sessions, searched by BM25 over their summaries."""
    texts = {
        id(one): [word for kept in choose(one, max(20, int(share * one.size))) for word in words_of(kept.text)]
        for one in sessions
    }
    groups = defaultdict(list)
    for one in sessions:
        groups[one.group].append(one)
    recalls = []
    for question in questions:
        wanted = {
            id(one) for one in groups[question["group"]] if {row["id"] for row in one.rows} & {*question["relevant"]}
        }
        if wanted:
            order = bm25(terms_of(question["text"]), {id(one): texts[id(one)] for one in groups[question["group"]]})
            recalls.append(len(wanted & set(order[:5])) / len(wanted))
    return sum(recalls) / len(recalls)


def bm25(terms: list[str], texts: dict[int, list[str]]) -> list[int]:
    mean = sum(map(len, texts.values())) / len(texts) or 1
    counts = {name: Counter(words) for name, words in texts.items()}
    having = {term: sum(term in one for one in counts.values()) for term in terms}

    def score(name: int) -> float:
        one, length = counts[name], len(texts[name])
        return sum(
            log(1 + (len(texts) - having[term] + 0.5) / (having[term] + 0.5))
            * one[term] * 2.2 / (one[term] + 1.2 * (0.25 + 0.75 * length / mean))
            for term in terms
            if one[term]
        )  # fmt: skip

    return sorted(texts, key=lambda name: -score(name))


def measured(name: str, folder: Path, *, quick: bool) -> list[tuple]:
    sessions, questions = sessions_of(folder, 24 if quick and name != "longmemeval_s" else None)
    ways: dict[str, list[Callable]] = {
        "at random": [by_chance(seed) for seed in range(2 if quick else SEEDS)],
        "lead sentences": [lead],
        "most central": [central],
        "Scrubjay": [ours()],
    }
    if not quick and name == "locomo":
        model = embedder_of("minilm")
        ways["Scrubjay, vectors"] = [ours(lambda texts: asyncio.run(model.embed(texts)))]
    rows = []
    for share in SHARES[name]:
        for way, choices in ways.items():
            turns = [kept(sessions, questions, choose, share) for choose in choices] if name != "longmemeval_s" else []
            # A group of the second set has four sessions, all of which are among the first five.
            searched = [found(sessions, questions, choose, share) for choose in choices] if name != "beam" else []
            recall = f"{sum(searched) / len(searched):.3f}" if searched else "–"
            means = [f"{sum(column) / len(column):.3f}" for column in zip(*turns, strict=True)] or ["–", "–"]
            rows.append((name, f"{share:.0%}", way, *means, recall))
    whole = found(sessions, questions, lambda session, _budget: session.sentences, 1.0)
    return [*rows, (name, "100%", "everything", "1.000", "1.000", f"{whole:.3f}")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", choices=("locomo", "beam", "longmemeval_s"))
    asked = parser.parse_args()
    table = Table(
        "set", "tokens", "chosen", "kept", "touched", "R@5", title="What summaries keep", title_justify="left"
    )
    for name in ("locomo", "beam", "longmemeval_s"):
        if asked.only in (None, name):
            for row in measured(name, asked.data / "recall" / name, quick=asked.quick):
                table.add_row(*row)
    console.print(table)


if __name__ == "__main__":
    main()
