"""Another process on the same stores: says what it hears, or which generation it asks, line by line."""

import asyncio
import json
import sys

from scrubjay.backends.redis import events
from scrubjay.model import Scope
from scrubjay.models import Cached
from scrubjay.settings import read_settings
from scrubjay.testing import ToyEmbedder
from scrubjay.wiring import wire
from scrubjay.write import index


async def main(what, records, redis, tenant):
    # So long that only an event can make it look again.
    index._FRESH_SECONDS = 3_600
    # So long that whoever says that it is ready has found the end of the stream.
    events.READY_SECONDS = 60
    settings = read_settings(records=records, working=redis, tenant=tenant, background=False)
    model = Cached(ToyEmbedder(version="2"))
    async with wire(settings, embedder=model) as jay:
        if what == "listen":
            jay.subscribe("*", lambda event: say(event.name, str(event.scope), event.data), user="anna")
        else:
            await model.embed(["a question that was asked here"])
            await jay.parts.index.serving()
        say("ready")
        while await asyncio.to_thread(sys.stdin.readline) == "ask\n":
            serving = await jay.parts.index.serving()
            known = serving.generation.number if serving is not None else None
            say(known, Scope(tenant=tenant).tenant, len(model._rows))


def say(*what):
    sys.stdout.write(f"{json.dumps(what)}\n")
    sys.stdout.flush()


asyncio.run(main(*sys.argv[1:]))
