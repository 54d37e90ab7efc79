"""The generation that answers in the tests of the read path: the toy model's."""

from scrubjay.model import Generation
from scrubjay.ports import Serving
from scrubjay.testing import NOW, ToyEmbedder

EMBEDDER = ToyEmbedder()
SERVING = Serving(
    generation=Generation(number=1, identity=EMBEDDER.identity, state="active", created_at=NOW), embedder=EMBEDDER
)


async def serving(*, failed=None):
    return SERVING
