"""What a secret looks like beside its name: `password = …`, `api_key: …`, `my password is …`.

A name alone proves nothing, since most of what follows `password:` in code and prose is a type, a variable, a rule or
a placeholder. So the value is judged too: strictly after names such as `token`, which have other meanings, and less so
after `password`.
"""

import re
from collections.abc import Iterator
from typing import Final

_SEPARATOR: Final = r"""["'`\])\\]{0,16}(?P<gap>[ \t]{0,8})(?P<sign>:=|=>|={1,2}|:)[ \t]{0,8}[“‘]?"""

# Each begins with a plain set of letters, so that the search leaps from one candidate to the next.
_PASSWORD_NAME: Final = re.compile(
    rf"(?P<name>[Pp](?i:ass(?:word|wd|phrase|code)|wd|(?<![A-Za-z0-9].)w|(?<=_.)ass))\d?{_SEPARATOR}"
)
_SECRET_NAME: Final = re.compile(
    r"(?P<name>[KTSCAktsca]"
    r"(?i:(?<=k)ey|(?<=t)oken|(?<=s)ecret|(?<=c)redentials?|(?<=a)uth(?:orization)?))"
    rf"{_SEPARATOR}"
)
_KEY_OWNER: Final = re.compile(
    r"(?:api|app|access|secret|private|encryption|signing|account|auth|master|service|license|deploy)[ _-]?\Z",
    re.IGNORECASE,
)
_TOKEN_OWNER: Final = re.compile(
    r"(?:page|next|continuation|cancellation|sync|pad|eos|bos|unk|mask|sep|cls|stop)[ _-]?\Z", re.IGNORECASE
)
_SCHEME: Final = re.compile(r"(?:bearer|basic|token|digest|apikey)[ \t]+", re.IGNORECASE)

_SIZE: Final = 256
"""How much of a value is judged. Longer ones are taken to their end."""

_QUOTED: Final = re.compile(
    rf"""[rbuf]{{0,2}}(?P<quote>\\{{0,16}}["'`])(?P<value>(?:(?!(?P=quote))[^\n]){{1,{_SIZE}}})""", re.IGNORECASE
)
_BARE: Final = re.compile(rf"""(?P<value>(?:(?!&[a-z_]+=)[^\s"'`<>(){{}}\[\],;\\“”‘’]){{4,{_SIZE}}})""", re.IGNORECASE)
_REST: Final = re.compile(r"""[^\s"'`<>(){}\[\],;\\&]*""")

_PLACEHOLDER: Final = re.compile(
    r"""
    \A (?: \W* | \W*%[sdr]\W* | (.)\1* | <.* | \[.* | \{.* | \$.* | %.* | .*[>}] ) \Z  # ****, <password>, ${TOKEN}
    | \$[\{(] | \{\{ | \*{3} | x{4} | \.{3} | … | \[redacted
    | (?:\A|[^a-z]) (?: your | example | sample | placeholder | change_?me | replace(?:_?me|_with)? | redacted | dummy
        | insert | todo | fixme | required | optional | nullable | env | environ | getenv | vault | secretref | foobar
        | hidden | masked | removed ) (?:[^a-z]|\Z)
    """,
    re.IGNORECASE | re.VERBOSE,
)
# fmt: off
_STAND_INS: Final = frozenset({
    "any", "auth", "bearer", "blank", "boolean", "bool", "bytes", "char", "confirm", "correct", "credential",
    "credentials", "default", "disabled", "empty", "enabled", "encrypted", "expired", "false", "forgot", "hash",
    "hashed", "hex", "incorrect", "input", "int", "integer", "invalid", "key", "label", "login", "match", "missing",
    "mypassword", "new", "nil", "no", "none", "null", "object", "off", "old", "on", "pass", "passphrase", "passwd",
    "password", "plain", "prompt", "pwd", "reset", "right", "safe", "secret", "secure", "set", "some", "string",
    "str", "strong", "test", "text", "token", "true", "type", "undefined", "unknown", "unset", "user", "username",
    "valid", "value", "varchar", "visible", "weak", "wrong", "yes",
})
# fmt: on
"""Words that stand where a password would, and are not one."""

_TELLING_WORD: Final = re.compile(r"pass|pwd|secret|token|key|cred|user|arg|param|input|field|hash", re.IGNORECASE)
_REFERENCE: Final = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|->|::|\?\.)[A-Za-z_]\w*)+")
_PLACE: Final = re.compile(
    r"(?:[a-z][a-z0-9+.-]*:)?(?:~|\.{0,2})/.*|(?:data|arn|file|env|op|ref\+\w+):.*", re.IGNORECASE
)
_WORDS: Final = re.compile(r"[A-Z]?[a-z]{3,}|[A-Z]{4,}")
_STANDARD: Final = re.compile(
    r"(?:base|sha|md|utf|oauth|bcrypt|argon|aes|rsa|hs|rs|es|ipv|python|http|pbkdf|scrypt|ntlm|tls|win|v)[-_]?\d.*",
    re.IGNORECASE,
)


def is_placeholder(value: str) -> bool:
    """Whether it stands for a secret without being one: `****`, `<password>`, `${TOKEN}`, `changeme`, `required`."""
    return value.lower() in _STAND_INS or _PLACEHOLDER.search(value) is not None


def looks_random(value: str) -> bool:
    """Whether it has letters and digits, and is not mostly made of words."""
    has_both = any(letter.isdigit() for letter in value) and any(letter.isalpha() for letter in value)
    return has_both and not is_mostly_words(value)


def is_mostly_words(value: str) -> bool:
    """Whether more than three letters in five belong to something that may be a word."""
    return sum(map(len, _WORDS.findall(value))) > 0.6 * len(value)


# fmt: off
_PASSWORD_WORDS: Final = frozenset({
    "password", "passwords", "passwd", "passphrase", "passphrases", "passcode", "pwd", "pw",
})
# fmt: on
# fmt: off
_SECRET_WORDS: Final = frozenset({
    "secret", "secrets", "credential", "credentials", "authorization", "apikey", "apikeys", "secretkey", "accesskey",
    "privatekey",
})
# fmt: on
# fmt: off
_KEY_OWNERS: Final = frozenset({
    "api", "app", "access", "secret", "private", "encryption", "signing", "account", "auth", "master", "service",
    "license", "deploy",
})
# fmt: on
# fmt: off
_TOKEN_OWNERS_WITHOUT_SECRETS: Final = frozenset({
    "page", "next", "continuation", "sync", "cancellation", "pad", "eos", "bos", "unk", "mask", "sep", "cls", "stop",
    "start", "end", "special",
})
# fmt: on
_NAME_PARTS: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def names_a_credential(name: str, value: str) -> bool:
    """Whether a field of this name with this value holds a credential.

    The last words of the name decide: `db_password` and `apiKey` do, `token_count`, `password_hash` and `key` do not.
    """
    parts = [part.lower() for part in _NAME_PARTS.findall(name)]
    if not parts or len(value) < 4 or _is_spoken_of(value):
        return False
    last, owner = parts[-1], parts[-2] if len(parts) > 1 else ""
    if last in _PASSWORD_WORDS:
        return True
    if last in ("token", "accesstoken", "authtoken"):
        plain = " " in value.removeprefix("Bearer ") or value.isalpha()
        return owner not in _TOKEN_OWNERS_WITHOUT_SECRETS and len(value) >= 8 and not plain
    is_key = last in ("key", "keys") and owner in _KEY_OWNERS
    return (last in _SECRET_WORDS or is_key) and len(value) >= 8 and not _is_sentence(value)


def names_a_credential_in_text(name: str, value: str) -> bool:
    """The same for a field of JSON in a text, such as a form, a translation or code: its value is judged as well."""
    if not names_a_credential(name, value):
        return False
    last = _NAME_PARTS.findall(name)[-1].lower()
    return _is_literal_password(value, by_equals=False) if last in _PASSWORD_WORDS else looks_random(value)


def _is_sentence(value: str) -> bool:
    return value.count(" ") > 2


def assigned_passwords(text: str) -> Iterator[tuple[int, int]]:
    """Find what is assigned to a name that ends in `password` or a word like it."""
    done = 0
    for site in _PASSWORD_NAME.finditer(text):
        if site.start() < done:
            continue
        quoted = _QUOTED.match(text, site.end())
        if quoted is not None:
            by_equals = site["sign"] != ":"
            if _is_literal_password(quoted["value"], by_equals=by_equals):
                yield quoted.span("value")
            continue
        bare = _BARE.match(text, site.end())
        if bare is None or _is_called(text, bare.end()):
            continue
        value = bare["value"].rstrip(".:)")
        from_environment = site["name"].isupper() and site["sign"] == "=" and not site["gap"]
        if _is_bare_password(value) or (from_environment and _is_literal_password(value, by_equals=True)):
            done = _whole(text, bare.start() + len(value), len(bare["value"]))
            yield bare.start(), done


def assigned_secrets(text: str) -> Iterator[tuple[int, int]]:
    """Find random-looking values that are assigned to a name such as `api_key`, `client_secret` or `token`."""
    done = 0
    for site in _SECRET_NAME.finditer(text):
        if site.start() < done or not _keeps_secrets(
            site["name"].lower(), owner=text[max(0, site.start() - 14) : site.start()]
        ):
            continue
        start = site.end()
        quote = _QUOTED.match(text, start)
        if quote is not None:
            start = quote.start("value")
        scheme = _SCHEME.match(text, start)
        if scheme is not None:
            start = scheme.end()
        found = _BARE.match(text, start)
        if quote is not None and " " not in quote["value"]:
            found = quote
        if found is None or (found is not quote and _is_called(text, found.end())):
            continue
        value = found["value"].rstrip(".:")
        if len(value) >= 12 and looks_random(value) and not _is_spoken_of(value):
            done = _whole(text, start + len(value), len(found["value"]))
            yield start, done


def _keeps_secrets(name: str, *, owner: str) -> bool:
    """Whether the words before the name leave it telling: an `api_key` is a secret, a `cache_key` is none."""
    if name == "key":
        return _KEY_OWNER.search(owner) is not None
    return name != "token" or _TOKEN_OWNER.search(owner) is None


_COMMANDS: Final = (
    re.compile(r"--[a-z-]{0,20}pass(?:word|wd|phrase)?[ \t]+['\"]?(?P<value>[^\s'\"-][^\s'\"]{3,128})", re.IGNORECASE),
    re.compile(r"\bsshpass[ \t]+-p[ \t]*['\"]?(?P<value>[^\s'\"]{4,128})"),
    re.compile(r"\bcurl\b[^\n]{0,200}?[ \t](?:-u|--user)[ \t]*['\"]?[^\s:'\"]{1,64}:(?P<value>[^\s'\"]{3,128})"),
    re.compile(
        r"\b(?:identified\s{1,3}by|with\s{1,3}password|password)\s{1,3}'(?P<value>[^'\n]{3,128})'", re.IGNORECASE
    ),
    re.compile(r"<(?:[\w.-]{0,20}pass(?:word|wd|phrase))>(?P<value>[^\s<]{4,128})</", re.IGNORECASE),
)


_MYSQL: Final = re.compile(
    r"\bmysql(?:dump|admin|import)?\b[^\n|;&]{0,200}?[ \t]['\"]?-p(?P<value>[^\s'\"-][^\s'\"]{3,128})"
)
"""Other commands have a `-p`, too, so that what follows has to look like a password."""


def commanded_passwords(text: str) -> Iterator[tuple[int, int]]:
    """Find passwords given to a command, an SQL statement, a `.netrc` file or an XML element."""
    for match in _MYSQL.finditer(text):
        if _is_bare_password(match["value"]):
            yield match.span("value")
    for pattern in _COMMANDS:
        for match in pattern.finditer(text):
            if not _is_spoken_of(match["value"]) and " " not in match["value"]:
                yield match.span("value")


_SPOKEN: Final = re.compile(
    r"\b(?:password|passphrase|passcode)s?\b(?:[ \t](?:for|of|to|on|at)\b[^\n.:=?!]{1,40}?)?"
    r"[ \t](?:is|was|are)[ \t](?:now[ \t]|still[ \t]|set[ \t]to[ \t]|just[ \t])?"
    r"(?P<opening>[\"'`“‘]?)(?P<value>[^\s\"'`“”‘’]{6,64})",
    re.IGNORECASE,
)


def spoken_passwords(text: str) -> Iterator[tuple[int, int]]:
    """Find passwords told in a sentence: `my password is …`. Only what no ordinary word looks like."""
    for match in _SPOKEN.finditer(text):
        value = match["value"].rstrip(".,;:)")
        classes = _classes(value)
        wordlike = value.isalnum() and re.fullmatch(r"[A-Za-z]+\d{1,6}", value)
        if (
            len(value) >= 6
            and "digit" in classes
            and (len(classes) >= 3 or wordlike)
            and not _STANDARD.match(value)
            and not _is_spoken_of(value)
        ):
            yield match.start("value"), match.start("value") + len(value)


def _is_literal_password(value: str, *, by_equals: bool) -> bool:
    """Judge a value that is surely a literal, being quoted or set in an environment file."""
    if len(value) < 4 or " " in value or _is_spoken_of(value):
        return False
    if re.fullmatch(r"[A-Za-z_.-]+", value):
        # A lone capital makes a label (`"password": "Passwort"`), and a telling word makes a field's name.
        label = not by_equals and value[0].isupper() and value[1:].islower()
        return not label and not _TELLING_WORD.search(value)
    return True


def _is_bare_password(value: str) -> bool:
    """Judge a value without quotes, which may as well be code or prose."""
    if len(value) < 6 or _is_spoken_of(value) or _STANDARD.match(value) or not re.match(r"[\w!@#^+=~]", value):
        return False
    if re.fullmatch(r"\w+", value):
        return any(letter.isdigit() for letter in value) and not _TELLING_WORD.search(value)
    classes = _classes(value)
    return ("symbol" in classes and len(classes) >= 2) or (len(classes) >= 3 and looks_random(value))


def _is_spoken_of(value: str) -> bool:
    """Whether it only says where the secret is: a placeholder, a variable, an attribute, a path."""
    if is_placeholder(value) or _REFERENCE.fullmatch(value):
        return True
    return len(value) < 32 and _PLACE.fullmatch(value) is not None


def _is_called(text: str, stop: int) -> bool:
    return text[stop : stop + 1] in ("(", "[", "{")


def _classes(value: str) -> set[str]:
    """Which of lower, upper, digit and symbol occur. What joins words or ends a sentence is no symbol."""
    found = set()
    for letter in value:
        if letter.isdigit():
            found.add("digit")
        elif letter.isalpha():
            found.add("upper" if letter.isupper() else "lower")
        elif letter in "!@#$%^&*+=~|?":
            found.add("symbol")
    return found


def _whole(text: str, stop: int, judged: int) -> int:
    """Where the value stops: beyond what was judged, when it was longer than that."""
    if judged < _SIZE:
        return stop
    rest = _REST.match(text, stop)
    return stop if rest is None else rest.end()
