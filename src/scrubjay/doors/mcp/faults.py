"""What is wrong with the arguments of a call, in our words: the field, the value, the remedy."""

from collections.abc import Mapping
from typing import Any, Final

from scrubjay.model.checks import shown, zoned
from scrubjay.model.remedies import wanted

_FIELD_SHOWN: Final = 80
"""Characters of a field's path that a message shows; `data` may be nested deeply."""

MOST_FAULTS: Final = 100
"""Of one call that are told: a model reads the answer, and a long list can have thousands."""


def fault(error: Mapping[str, Any]) -> str:
    """One finding of pydantic as a sentence."""
    field = ".".join(str(place) for place in error["loc"])[:_FIELD_SHOWN] or "arguments"
    value = shown(error["input"])
    match error["type"]:
        case "missing":
            return f"{field} is missing: give it"
        case "extra_forbidden":
            return f"{field} is not known here: remove it, or check its spelling"
        case "timezone_aware":
            return f"{field} is {value} without a time zone: write it with one, such as {zoned(error['input'])}"
        case "value_error":
            return str(error["ctx"]["error"]).replace("the moment", field)
        case _ if use := wanted(error):
            return f"{field} is {value}: use {use}"
        case _:
            return f"{field} is {value}: {error['msg'][:1].lower()}{error['msg'][1:]}"
