"""Whether a value is a secret, or only stands where one would: a type, a variable, a rule, a placeholder, a word."""

import re
from typing import Final

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
    "hashed", "hex", "input", "int", "integer", "invalid", "key", "label", "login", "match", "missing",
    "mypassword", "new", "nil", "no", "none", "null", "object", "off", "old", "on", "pass", "passphrase", "passwd",
    "password", "plain", "prompt", "pwd", "reset", "right", "safe", "secret", "secure", "set", "some", "string",
    "str", "strong", "test", "text", "token", "true", "type", "undefined", "unknown", "unset", "user", "username",
    "valid", "value", "varchar", "visible", "weak", "wrong", "yes",
    "erforderlich", "falsch", "leer", "neu", "pflichtfeld", "unbekannt", "ungültig", "vergessen",
    "inconnu", "incorrect", "invalide", "obligatoire", "oublié", "requis", "vide",
    "caducada", "desconocida", "incorrecta", "obligatoria", "obligatorio", "olvidada", "requerida", "requerido",
    "obbligatoria", "obbligatorio", "richiesta", "obrigatória", "obrigatório",
})
# fmt: on
"""Words that stand where a password would, and are not one."""

_TELLING_WORD: Final = re.compile(r"pass|pwd|secret|token|key|cred|user|arg|param|input|field|hash", re.IGNORECASE)
_REFERENCE: Final = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|->|::|\?\.)[A-Za-z_]\w*)+")
_PLACE: Final = re.compile(
    r"(?:[a-z][a-z0-9+.-]*:)?(?:~|\.{0,2})/.*|(?:data|arn|file|env|op|ref\+\w+):.*", re.IGNORECASE
)
_WORDS: Final = re.compile(r"[A-Z]?[a-z]{3,}|[A-Z]{4,}")
_CJK: Final = re.compile("[\u2e80-\u9fff\uac00-\ud7ff\uf900-\ufaff]")
_STANDARD: Final = re.compile(
    r"(?:base|sha|md|utf|oauth|bcrypt|argon|aes|rsa|hs|rs|es|ipv|python|http|pbkdf|scrypt|ntlm|tls|win|v)[-_]?\d.*",
    re.IGNORECASE,
)


def is_placeholder(value: str) -> bool:
    """Whether it stands for a secret without being one: `****`, `<password>`, `${TOKEN}`, `changeme`, `required`."""
    return value.lower() in _STAND_INS or is_masked(value)


def is_masked(value: str) -> bool:
    """The same for what no word can be: `****`, `<password>`, `${TOKEN}`."""
    return _PLACEHOLDER.search(value) is not None


def looks_random(value: str) -> bool:
    """Whether it has letters and digits, and is not mostly made of words."""
    has_both = any(letter.isdigit() for letter in value) and any(letter.isalpha() for letter in value)
    return has_both and not is_mostly_words(value)


def is_mostly_words(value: str) -> bool:
    """Whether more than three letters in five belong to something that may be a word."""
    return sum(map(len, _WORDS.findall(value))) > 0.6 * len(value)


def is_spoken_of(value: str) -> bool:
    """Whether it only says where the secret is: a placeholder, a variable, an attribute, a path."""
    if is_placeholder(value) or _REFERENCE.fullmatch(value):
        return True
    return len(value) < 32 and _PLACE.fullmatch(value) is not None


def is_literal_password(value: str, *, by_equals: bool) -> bool:
    """Judge a value that is surely a literal, being quoted or set in an environment file."""
    if len(value) < 4 or " " in value or is_spoken_of(value):
        return False
    if value.isascii() and re.fullmatch(r"[A-Za-z_.-]+", value):
        # A lone capital makes a label (`"password": "Passwort"`), and a telling word makes a field's name.
        label = not by_equals and value[0].isupper() and value[1:].islower()
        return not label and not _TELLING_WORD.search(value)
    # Letters of other scripts are the label of a field, or what is said of it (`"パスワード": "8文字以上"`).
    return value.isascii() or not (value.isalpha() or _CJK.search(value))


def is_bare_password(value: str) -> bool:
    """Judge a value without quotes, which may as well be code or prose."""
    if len(value) < 6 or value.isalpha() or is_spoken_of(value) or _STANDARD.match(value):
        return False
    if not (value[0].isalnum() or value[0] in "_!@#^+=~$%&*?-"):
        return False
    if value.replace("_", "").isalnum():
        return any(letter.isdigit() for letter in value) and not _TELLING_WORD.search(value)
    classes = _classes(value)
    return ("symbol" in classes and len(classes) >= 2) or (len(classes) >= 3 and looks_random(value))


def is_told_password(value: str) -> bool:
    """Judge a word of a sentence: one with a digit or a symbol, and with what no ordinary word has beside it."""
    if len(value) < 6 or _STANDARD.match(value) or is_spoken_of(value):
        return False
    classes = _classes(value)
    wordlike = "digit" in classes and re.fullmatch(r"[^\W\d_]+\d{1,6}", value) is not None
    return wordlike or (len(classes) >= 3 and not classes.isdisjoint(("digit", "symbol")))


def is_random_secret(value: str) -> bool:
    """Judge what stands beside a name that has other meanings: long, without words, and no reference."""
    return len(value) >= 12 and looks_random(value) and not is_spoken_of(value)


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
