"""An agent that can be killed at any moment, and goes on where it stopped.

    python resumable_agent.py [FOLDER]

It writes a small handbook, page by page. Stop it however you like (Ctrl-C, `kill -9`, pull the plug) and start it
again: the handbook and the record of how it was made are the same as if it had never been stopped. Its planner is a
script, so it needs no language model and no network; put yours in place of `next_action`.
"""

import sys
from pathlib import Path

import scrubjay

AGENT = "handbook-writer"

PAGES = {
    "install.md": "# Install\n\nRun `pip install scrubjay`.\n",
    "remember.md": "# Remember\n\nTell it once. It is kept, with its time and its place.\n",
    "recall.md": "# Recall\n\nAsk in your own words.\n",
}
"""What the planner wants, in this order: one page in each cycle, and then an index of all pages so far."""


def next_action(there: scrubjay.Resumption) -> dict[str, str] | None:
    """The planner: the file to write next in this cycle, or None when the cycle is done."""
    assert there.cycle is not None
    names = list(PAGES)[: there.cycle.index]
    match len(there.steps):
        case 0:
            return {"path": names[-1], "text": PAGES[names[-1]]}
        case 1:
            return {"path": "index.md", "text": "".join(f"- [{Path(name).stem}]({name})\n" for name in names)}
        case _:
            return None


def write(folder: Path, path: str, text: str) -> int:
    """The one tool. Doing it twice is as good as doing it once, so it may be done again when nobody knows."""
    part = folder / f"{path}.part"
    part.write_text(text)
    part.replace(folder / path)
    return len(text)


def go_on(jay: scrubjay.SyncScrubjay, folder: Path) -> bool:
    """Take the one step that comes next; False when all pages are written.

    Every call names the cycle and the step that it means. Should a second process drive the same agent by mistake, one
    of the two is refused with a Conflict, and no step is taken twice.
    """
    agents = jay.agents
    there = agents.resume(AGENT)
    print(there, flush=True)
    if there.cycle is None:
        if there.next_index > len(PAGES):
            return False
        page = list(PAGES)[there.next_index - 1]
        agents.begin_cycle(AGENT, goal=f"Write {page}", index=there.next_index)
    elif there.proposal is not None:
        # Decided, and perhaps done: nobody can know. Look at the world or, as here, do it again.
        cycle, step, call = there.cycle.index, there.proposal.step, there.proposal.arguments
        size = write(folder, str(call["path"]), str(call["text"]))
        agents.result(AGENT, output={"characters": size}, artifacts=[str(call["path"])], cycle=cycle, step=step)
    elif (action := next_action(there)) is not None:
        cycle, step, why = there.cycle.index, there.next_step, f"{action['path']} is not up to date"
        agents.propose(AGENT, "write", arguments=dict(action), reasoning=why, cycle=cycle, step=step)
    else:
        finish(jay, there, folder)
    return True


def finish(jay: scrubjay.SyncScrubjay, there: scrubjay.Resumption, folder: Path) -> None:
    """End a cycle: keep its files, note what it taught, and keep the state to go on from."""
    assert there.cycle is not None
    index, taught = there.cycle.index, f"{there.cycle.goal} took two steps"
    if there.pending:
        jay.agents.snapshot(AGENT, folder)
    # With an id of its own, it is one memory however often it is told.
    jay.agents.record_memory(AGENT, "reflection", taught, cycle=index, namespaces=["long-term"], id=f"{AGENT} {index}")
    jay.agents.end_cycle(AGENT, cycle=index, state={"pages": list(PAGES)[:index]}, summary="Written and listed")


def main(folder: Path) -> None:
    pages = folder / "pages"
    pages.mkdir(parents=True, exist_ok=True)
    # Without a folder of its own, the memory is the one that all your programs share.
    with scrubjay.open(folder / "memory") as jay:
        jay.agents.create(AGENT, directives="Write the handbook, one page at a time")
        while go_on(jay, pages):
            pass
        for happening in jay.agents.replay(AGENT):
            print(f"  {happening.cycle or ''}\t{happening}")
        kept = jay.agents.files(AGENT)
        print(f"{len(kept)} files, kept in {len(jay.agents.snapshots(AGENT))} snapshots")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "handbook"))
