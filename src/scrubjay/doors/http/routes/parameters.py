"""What routes take from the path and from the query, and the pages that they answer with."""

from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias
from uuid import UUID

from fastapi import Path, Query
from pydantic import BaseModel, Field, create_model

from scrubjay.doors.http.bodies.body import Place
from scrubjay.doors.http.values import answer

Id: TypeAlias = Annotated[str, Path(description="A memory's id, or the id of your own that you gave it.")]
Where: TypeAlias = Annotated[Place, Query()]


def page_of(name: str, kind: type) -> type[BaseModel]:
    """The answer that holds a page of such values under this name, and where the next page begins."""
    following = Field(description="Give it as `after` for the next page; null when this was the last.")
    found: Any = {name: (answer(list[kind]), ...), "next": (UUID | None, following)}  # type: ignore[valid-type]  # known when it runs
    made: type[BaseModel] = create_model(
        f"{kind.__name__}Page", __doc__=f"Some {name}, and where the next page begins.", **found
    )
    return made


def page(name: str, found: Sequence[Any], limit: int) -> dict[str, Any]:
    """Such a page. A full one may have another behind it."""
    return {name: list(found), "next": found[-1].id if len(found) == limit else None}
