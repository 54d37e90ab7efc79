"""What somebody who looks a memory over has to say."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at."""

    about: str
    said: str
    """What was found, in words."""
    remedy: str = ""
    """What to do; empty when nothing is wrong, or nothing is any more."""
    fixed: str = ""
    """What was done about it; empty when nothing was."""
