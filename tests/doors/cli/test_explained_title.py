"""What `--explain` draws of a long question that has a title."""

from rich.console import Console

from scrubjay.doors.cli.views import explained


def test_the_title_is_shown_beside_the_meaning_it_counts_with():
    signals = {"meaning": 0.51, "meaning_rank": 2, "meaning_z": 1.5, "title": 0.72, "title_rank": 1, "total": 1.5}
    console = Console(width=120)
    with console.capture() as drawn:
        console.print(explained(signals))
    [meaning, title, total] = drawn.get().splitlines()
    assert "by meaning" in meaning
    assert "rank 2, +1.5 deviations from the others" in meaning
    assert "by title" in title
    assert "0.72" in title
    assert "rank 1, counted with the meaning" in title
    assert "total" in total
