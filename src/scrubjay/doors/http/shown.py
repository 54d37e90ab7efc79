"""What the answer to a request that writes shows of what others told.

async def remember(jay: WriteJay, shown: Shown, told: …) -> object:
    return alike(told, shown.of_each(await jay.remember_many(each(told)), told))
"""

from typing import Annotated, TypeAlias

from fastapi import Depends, Request

from scrubjay.doors.http.access import visit_of
from scrubjay.doors.shown import Showing


def shown_to(request: Request) -> Showing:
    """What may be shown to whoever makes this request."""
    visit = visit_of(request)
    return Showing(began=None if visit.may("read") else visit.jay.parts.clock())


Shown: TypeAlias = Annotated[Showing, Depends(shown_to)]
