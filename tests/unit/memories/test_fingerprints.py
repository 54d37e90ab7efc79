"""Two occurrences of one error are one; two errors are two."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrubjay.memories.learning.fingerprints import LONGEST, fingerprint


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("FileNotFoundError: /var/lib/a.csv", "FileNotFoundError: /srv/data/2024/b.csv"),
        ("FileNotFoundError: C:\\data\\a.csv", "FileNotFoundError: D:\\x\\y\\b.csv"),
        ("segfault at 0x7ffd12ab", "segfault at 0x55e0"),
        ("job 8f14e45f-ceea-467f-9a3b-0123456789ab failed", "job 00000000-1111-2222-3333-444455556666 failed"),
        ("2026-01-02T10:00:00Z timeout after 30 s", "2025-12-31 23:59:59.123 timeout after 2.5 s"),
        ("connection to 10.0.0.1:5432 refused", "connection to 192.168.7.9:80 refused"),
        ("GET https://a.example/x?y=1 gave 503", "GET http://b.example/ gave 500"),
        ("user mia_li_3668 not found", "user tom_ray_12 not found"),
        ("commit 3f2a9bc1 is gone", "commit 77aa01ffee is gone"),
        ("total price is 305, but paid 255", "total price is 1,204.50, but paid 7"),
        ("tests/unit/test_a.py:12: AssertionError", "src/app/test_b.py:345: AssertionError"),
    ],
)
def test_what_differs_from_run_to_run_is_left_out(one, other):
    assert fingerprint(one) == fingerprint(other)
    assert any(letter.isalpha() for letter in fingerprint(one))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("KeyError: 'user'", "KeyError: 'order'"),
        ("timeout after 3 s", "refused after 3 s"),
        ("interface defaced", "interface decade"),
    ],
)
def test_what_tells_errors_apart_stays(one, other):
    assert fingerprint(one) != fingerprint(other)


def test_nothing_but_numbers_is_no_error():
    assert fingerprint("12345 / 0x12") == ""


@given(st.text())
def test_it_is_one_short_line_and_settles_at_once(text):
    told = fingerprint(text)
    assert len(told) <= LONGEST
    assert "\n" not in told
    assert fingerprint(told.rstrip()) in (told, fingerprint(fingerprint(told)))


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_no_number_matters(one, other):
    assert fingerprint(f"retry {one} failed") == fingerprint(f"retry {other} failed")
