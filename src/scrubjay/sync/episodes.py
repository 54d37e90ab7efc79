"""Episodes without `await`. Forwards only."""

from scrubjay.memories.episodes import Episodes
from scrubjay.sync.forward import Blocking, forward


class SyncEpisodes(Blocking[Episodes]):
    """Episodes, without `await`. See `Episodes`: the verbs and their keywords are the same."""

    store_episode = forward(Episodes.store_episode)
    store_many = forward(Episodes.store_many)
    fetch_recent_context = forward(Episodes.fetch_recent_context)
    timeline = forward(Episodes.timeline)
    recall = forward(Episodes.recall)
