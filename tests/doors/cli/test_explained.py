"""What `--explain` draws, so that a stranger can read it."""

from rich.console import Console

from scrubjay.doors.cli.views import explained
from scrubjay.model.answers import PARTS


def drawn_of(signals, score=None):
    console = Console(width=140)
    with console.capture() as drawn:
        console.print(explained(signals, score))
    return drawn.get().splitlines()


def test_every_part_of_the_total_says_what_it_is():
    lines = drawn_of(dict.fromkeys(PARTS, 1.0) | {"reread": 0.5, "total": 13.5}, 0.98)
    assert len(lines) == len(PARTS) + 2
    for name, line in zip((*PARTS, "reread"), lines, strict=False):
        assert line.strip().startswith(name)
        assert len(line.rstrip().rpartition("  ")[2].split()) > 2, f"{name} is left unexplained"
    assert lines[-1].strip().endswith("a score of 0.98, which orders these answers and is no probability")


def test_the_searches_say_what_their_numbers_are_and_count():
    found = {"meaning": 0.512, "meaning_rank": 1, "meaning_z": 2.0, "meaning_weight": 1.0}
    words = {"words": 5.0, "words_rank": 3, "words_z": 1.0, "words_weight": 0.8}
    meaning, by_words, relevance, _ = drawn_of({**found, **words, "relevance": 2.8, "total": 2.8})
    assert "0.51  cosine, rank 1, +2.0 deviations from the others, weight 1" in meaning
    assert "5.00  BM25, rank 3, +1.0 deviations from the others, weight 0.8" in by_words
    assert "none of the words" not in relevance
    _, relevance, _ = drawn_of({**found, "relevance": 1.84, "total": 1.84})
    assert relevance.rstrip().endswith("; -0.16 for none of the words")


def test_what_was_compared_without_a_search_has_no_rank():
    meaning, *_ = drawn_of({"meaning": 0.2, "relevance": -0.5, "standing": 3.0, "total": 2.5})
    assert meaning.rstrip().endswith("cosine, compared later")


def test_the_title_is_shown_beside_the_meaning_it_counts_with():
    signals = {"meaning": 0.51, "meaning_rank": 2, "meaning_z": 1.5, "title": 0.72, "title_rank": 1, "total": 1.5}
    [meaning, title, total] = drawn_of(signals)
    assert "by meaning" in meaning
    assert "rank 2, +1.5 deviations from the others" in meaning
    assert "by title" in title
    assert "0.72" in title
    assert "rank 1, counted with the meaning" in title
    assert "total" in total
