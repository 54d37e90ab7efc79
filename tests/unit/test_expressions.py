"""Every regular expression of the package reads hostile texts in a time that grows with their length, and no faster.

All are collected, with the ways in which they are asked, and each is held against repeated pieces in a process of its
own: there a clock ends what would never end.
"""

import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def test_no_expression_takes_long_over_a_hostile_text():
    done = subprocess.run(
        [sys.executable, str(HERE / "expressions.py")], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)

    assert told["slow"] == []
    assert told["read"] > 200, "most of them were not found"
    assert told["unused_bounds"] == []
