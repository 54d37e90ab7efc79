"""One of several processes on one database: does what its arguments say as soon as it is told to go."""

import sys

import scrubjay


def race(jay, name, many):
    """Tell values of one key as fast as it goes."""
    for step in range(many):
        jay.remember(f"value {step} of {name}", key="city", user="anna")


def say(jay, name, many):
    """Tell plain facts and turns of one session."""
    for step in range(many):
        jay.remember(f"turn {step} of {name}", kind="message", user="anna", session="s")
    jay.remember("the same for all", user="anna")


def answer(jay, name, many):
    """For each line that is read, tell at once whether it can be found by its words and by its meaning."""
    print("open", flush=True)
    for line in sys.stdin:
        found = [len(jay.recall(line.strip(), mode=mode, limit=1, touch=False)) for mode in ("words", "meaning")]
        current = [hit.memory.content for hit in jay.recall("", key="city", touch=False)]
        jay.remember(f"answer to {line.strip()}")
        print(found, current, flush=True)


def main():
    what, url, name, many = sys.argv[1:]
    print("ready", flush=True)
    sys.stdin.readline()
    with scrubjay.open(records=url, embedder="static", background=False) as jay:
        {"race": race, "say": say, "answer": answer}[what](jay, name, int(many))
    print("done", flush=True)


if __name__ == "__main__":
    main()
