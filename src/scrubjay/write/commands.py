"""Secrets in commands, statements, headers and files of a known form: `mysql -p…`, `Cookie: …`, `.netrc`."""

import re
from collections.abc import Iterator
from typing import Final

from scrubjay.write.assignments import Span
from scrubjay.write.secret_values import is_bare_password, is_masked, is_random_secret, is_spoken_of

WORD_END: Final = "\x1f"
"""Stands between the words of a command that is a list, when they are looked at together."""

_GAP: Final = rf"""["']?(?:,[ \t]*|[ \t{WORD_END}]+|=)["']?"""
_END: Final = rf"\s'\",;|{WORD_END}"
_PASSWORD: Final = rf"(?P<secret>[^{_END}]{{4,128}})"
_LOGIN: Final = rf"[^{_END}:]{{0,64}}:(?P<secret>[^{_END}]{{3,128}})"

OPTIONS: Final = (
    # The option, what follows it, and the commands of which that is a password.
    ("-p", _PASSWORD, r"mysql\w*|mariadb[\w-]*"),
    ("-p", _GAP + _PASSWORD, r"mongo\w*|docker|podman|helm|oc|az|sshpass"),
    ("-(?:u|-user|-proxy-user|U)", rf"(?:{_GAP})?{_LOGIN}", "curl|wget"),
    ("-(?:a|-auth)", _GAP + _LOGIN, "https?|xh"),
    ("-a", _GAP + _PASSWORD, "(?:redis|valkey)-cli"),
    ("-P", f"(?:{_GAP})?{_PASSWORD}", "sqlcmd|bcp"),
    ("-w", _GAP + _PASSWORD, r"ldap\w+"),
    ("-(?:store|key|src|dest)pass", _GAP + _PASSWORD, "keytool|jarsigner"),
    ("-pass(?:in|out)?", _GAP + _LOGIN, "openssl"),
)
_OPTIONS: Final = tuple(
    (re.compile(rf"(?:(?<=[ \t\"'{WORD_END}])){flag}{value}"), re.compile(rf"(?<![\w-])(?:{commands})(?![\w-])"))
    for flag, value, commands in OPTIONS
)
_BEFORE: Final = 200
"""Characters before an option among which its command stands."""


def passwords_of_options(text: str) -> Iterator[Span]:
    """Find passwords given to a command by an option that means something else elsewhere: `mysql -p…`."""
    for option, command in _OPTIONS:
        if command.search(text) is None:
            continue
        for site in option.finditer(text):
            before = text[site.start() - 1 : site.start("secret")]
            if WORD_END in before:
                accepted = not is_masked(site["secret"])  # A word of a list is surely a password.
            else:
                accepted = not is_spoken_of(site["secret"]) if ":" in before else is_bare_password(site["secret"])
            if not accepted:
                continue
            line = re.split(r"[\n|;&]", text[max(0, site.start() - _BEFORE) : site.start()])[-1]
            if command.search(line):
                yield site.span("secret")


_STATEMENTS: Final = (
    re.compile(rf"(?i:--[a-z-]{{0,20}}pass(?:word|wd|phrase)?){_GAP}(?P<secret>[^{_END}-][^{_END}]{{3,128}})"),
    re.compile(r"(?i:\b(?:identified\s{1,3}by|with\s{1,3}password|password)\s{1,3})'(?P<secret>[^'\s]{3,128})'"),
    re.compile(r"(?i:<[\w.-]{0,20}pass(?:word|wd|phrase)>)(?P<secret>[^\s<]{4,128})</"),
)


def passwords_of_statements(text: str) -> Iterator[Span]:
    """Find passwords beside `--password`, in an SQL statement or an XML element."""
    for pattern in _STATEMENTS:
        for match in pattern.finditer(text):
            if not is_spoken_of(match["secret"]):
                yield match.span("secret")


_COOKIES: Final = re.compile(r"""(?i:\b(?:set-)?cookie)2?["']?[ \t]{0,4}[:=][ \t]{0,4}["']?(?=[^\s=;,]{1,128}=)""")
_COOKIE: Final = re.compile(r"""[ \t]{0,4}[^\s=;,:"'{}()<>]{1,128}(?:=(?P<secret>[^\s;,"'<>]*))?(?P<more>;?)""")


def cookies(text: str) -> Iterator[Span]:
    """Find the values of cookies in a header that sends or sets them, where they look random: `lang=en` stays."""
    done = 0
    for header in _COOKIES.finditer(text):
        place = header.end()
        while place >= done and (cookie := _COOKIE.match(text, place)) is not None:
            done = place = cookie.end()
            if cookie["secret"] and is_random_secret(cookie["secret"]):
                yield cookie.span("secret")
            if not cookie["more"]:
                break
