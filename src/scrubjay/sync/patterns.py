"""Pattern memory without `await`. Forwards only."""

from scrubjay.memories.patterns import Patterns
from scrubjay.sync.forward import Blocking, forward


class SyncPatterns(Blocking[Patterns]):
    """Pattern memory, without `await`. See `Patterns`: the verbs and their keywords are the same."""

    extract_pattern = forward(Patterns.extract_pattern)
    learn = forward(Patterns.learn)
    feedback = forward(Patterns.feedback)
    get = forward(Patterns.get)
    history = forward(Patterns.history)
    search_patterns = forward(Patterns.search_patterns)
    find_matching_patterns = forward(Patterns.find_matching_patterns)
    recommend = forward(Patterns.recommend)
    predict = forward(Patterns.predict)
    families = forward(Patterns.families)
