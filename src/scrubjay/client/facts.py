"""Facts of a server: a line for each verb."""

from scrubjay.client.verb import Remote, verb
from scrubjay.memories.facts import Facts
from scrubjay.model import PLACE_NAMES


class RemoteFacts(Remote, memory="facts"):
    """What is true, for whom, and since when. See `Facts`: the verbs and their keywords are the same."""

    store = verb(Facts.store, "POST", "/facts", query=("insert_only",))
    store_many = verb(Facts.store_many, "POST", "/facts", many="items", query=("insert_only",))
    store_user_preference = verb(Facts.store_user_preference, "POST", "/facts/preferences")
    store_project_fact = verb(Facts.store_project_fact, "POST", "/facts/project")
    store_skill = verb(Facts.store_skill, "POST", "/facts/skills")
    get_by_id = verb(Facts.get_by_id, "GET", "/facts/{id}")
    get_by_key = verb(Facts.get_by_key, "GET", "/facts/by-key")
    get_user_preferences = verb(Facts.get_user_preferences, "GET", "/facts/preferences")
    get_project_facts = verb(Facts.get_project_facts, "GET", "/facts/project")
    get_skills = verb(Facts.get_skills, "GET", "/facts/skills")
    search = verb(Facts.search, "POST", "/facts/search", reads=True)
    get_context_for_prompt = verb(Facts.get_context_for_prompt, "POST", "/facts/prompt", reads=True)
    history = verb(Facts.history, "GET", "/facts/history")
    as_of = verb(Facts.as_of, "GET", "/facts/as-of")
    update_importance = verb(Facts.update_importance, "PUT", "/facts/{id}/importance", query=PLACE_NAMES)
    boost_importance = verb(Facts.boost_importance, "POST", "/facts/{id}/boost", query=PLACE_NAMES)
    delete = verb(Facts.delete, "DELETE", "/facts/{id}")
    delete_by_key = verb(Facts.delete_by_key, "DELETE", "/facts")
    restore = verb(Facts.restore, "POST", "/facts/restore")
    purge = verb(Facts.purge, "POST", "/facts/purge")
    cleanup_expired = verb(Facts.cleanup_expired, "POST", "/facts/cleanup")
    conflicts = verb(Facts.conflicts, "GET", "/facts/conflicts")
    resolve = verb(Facts.resolve, "POST", "/facts/conflicts/{conflict}/resolve", query=PLACE_NAMES)
    list = verb(Facts.list, "GET", "/facts", holds="facts")
