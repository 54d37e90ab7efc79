"""The same conversation, told in other ways: people leave out the kind, the author, the session or the role."""

from collections.abc import Callable


def _without(telling: dict, *names: str) -> dict:
    return {name: value for name, value in telling.items() if name not in names}


def _role(telling: dict) -> tuple[dict, str]:
    data = dict(telling["data"])
    role = data.pop("role", "")
    return {**telling, "data": data}, role


def _named_in_text(telling: dict) -> dict:
    """With the name or the role before the text, as in a transcript."""
    telling, role = _role(telling)
    name = telling.get("author") or role
    return {**_without(telling, "author"), "content": f"{name}: {telling['content']}"} if name else telling


def _role_as_author(telling: dict) -> dict:
    telling, role = _role(telling)
    return {**telling, "author": role} if role else telling


def _nobody(telling: dict) -> dict:
    return _without(_role(telling)[0], "author")


WAYS: dict[str, Callable[[dict], dict]] = {
    "usual": lambda telling: telling,
    "notes": lambda telling: _without(telling, "kind"),
    "names-in-text": _named_in_text,
    "names-in-text-notes": lambda telling: _without(_named_in_text(telling), "kind"),
    "role-as-author": _role_as_author,
    "nobody": _nobody,
    "nobody-notes": lambda telling: _without(_nobody(telling), "kind"),
    "no-time": lambda telling: _without(telling, "valid_from"),
    "no-session": lambda telling: _without(telling, "session"),
    "no-session-notes": lambda telling: _without(telling, "session", "kind"),
    "bare": lambda telling: _without(_nobody(telling), "session", "kind", "valid_from"),
}
"""By name. `notes` leave out the kind, `nobody` says neither author nor role, `bare` says nothing but the text."""
