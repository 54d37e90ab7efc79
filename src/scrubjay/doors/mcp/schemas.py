"""The schemas of tools, as short as they can be: a client puts all of them before its model, in every conversation."""

from functools import cache
from typing import Any

from pydantic import BaseModel


@cache
def schema_of(shape: type[BaseModel]) -> dict[str, Any]:
    """The JSON schema of a shape without what says nothing: titles, and that what may be left out may be null."""
    described: dict[str, Any] = _shortened(shape.model_json_schema())
    # The tool describes itself; its arguments need no second description.
    described.pop("description", None)
    # What is a shape's own comes before what it shares with others.
    own = shape.__annotations__
    properties: dict[str, Any] = described.get("properties", {})
    described["properties"] = dict(sorted(properties.items(), key=lambda field: field[0] not in own))
    return described


def _shortened(node: Any) -> Any:  # noqa: ANN401 -- any part of a schema
    if isinstance(node, list):
        return [_shortened(one) for one in node]
    if not isinstance(node, dict):
        return node
    kept = {name: _named(name, one) for name, one in node.items() if not (name == "title" and isinstance(one, str))}
    match kept.get("anyOf"):
        case [one, {"type": "null"}]:
            del kept["anyOf"]
            kept = {**one, **kept}
    if kept.get("default", ...) is None:
        del kept["default"]
    return kept


def _named(name: str, node: Any) -> Any:  # noqa: ANN401 -- any part of a schema
    # Below `properties` the names are those of fields, and a field may be called `title`.
    if name in ("properties", "$defs"):
        return {field: _shortened(one) for field, one in node.items()}
    return _shortened(node)
