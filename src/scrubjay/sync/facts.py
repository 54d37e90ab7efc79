"""Facts without `await`. Forwards only."""

from scrubjay.memories.facts import Facts
from scrubjay.sync.forward import Blocking, forward


class SyncFacts(Blocking[Facts]):
    """Facts, without `await`. See `Facts`: the verbs and their keywords are the same."""

    store = forward(Facts.store)
    store_many = forward(Facts.store_many)
    store_user_preference = forward(Facts.store_user_preference)
    store_project_fact = forward(Facts.store_project_fact)
    store_skill = forward(Facts.store_skill)
    get_by_id = forward(Facts.get_by_id)
    get_by_key = forward(Facts.get_by_key)
    get_user_preferences = forward(Facts.get_user_preferences)
    get_project_facts = forward(Facts.get_project_facts)
    get_skills = forward(Facts.get_skills)
    search = forward(Facts.search)
    get_context_for_prompt = forward(Facts.get_context_for_prompt)
    history = forward(Facts.history)
    as_of = forward(Facts.as_of)
    update_importance = forward(Facts.update_importance)
    boost_importance = forward(Facts.boost_importance)
    delete = forward(Facts.delete)
    delete_by_key = forward(Facts.delete_by_key)
    restore = forward(Facts.restore)
    purge = forward(Facts.purge)
    cleanup_expired = forward(Facts.cleanup_expired)
    conflicts = forward(Facts.conflicts)
    resolve = forward(Facts.resolve)
    list = forward(Facts.list)
