"""Which embedding model answers, when it is not the configured one: why, and what to do about it."""

from typing import Final

from scrubjay.model import Finding, Identity
from scrubjay.ports import Generations, Serving
from scrubjay.write.index import Index

_BUILD: Final = "run `scrubjay reindex`, or leave it to a program that stays open"


async def other_model(index: Index, generations: Generations, serving: Serving | None) -> Finding | None:
    """What is to be said of the model that answers, `serving`; None when it is the configured one, or there is none."""
    model = index.embedder
    if model is None or (serving is not None and serving.generation.identity == model.identity):
        return None
    if serving is not None and serving.is_fallback:
        said = f"the configured model cannot answer, and {serving.embedder.identity} stands in for it"
        return Finding(about="index", said=said, remedy="bring its server back: what waits is indexed then")
    said = f"the configured model {model.identity} is not the one that answers"
    is_built = await index.building() is not None
    if serving is not None:
        return Finding(about="index", said=said, remedy=_BUILD if is_built else "run `scrubjay reindex --adopt`")
    said = f"{said}: recall is by words, since {await _active(generations)} made the vectors and cannot be opened here"
    # One that was replaced already is another version's doing: the two would take turns.
    remedy = _BUILD if is_built else "use the version that has it everywhere, or run `scrubjay reindex --adopt` here"
    return Finding(about="index", said=said, remedy=remedy)


async def _active(generations: Generations) -> Identity:
    """The model whose vectors are in use. There is one as soon as anybody has asked."""
    return next(one.identity for one in await generations.generations() if one.state == "active")
