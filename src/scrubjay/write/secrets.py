"""What a secret looks like by itself: tokens with a known shape, private keys, passwords inside URLs.

A rule says which strings must stand in a text before it is worth looking closer. Text that holds none of them, which is
nearly all text, costs a few dozen substring checks and nothing more. Every pattern reads a hostile text in linear time:
a run of characters is entered at its beginning only, or is bounded.
"""

import re
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from string import ascii_letters, digits
from typing import Any, Final, TypeAlias

from scrubjay.write.assignments import (
    assigned_passwords,
    assigned_secrets,
    commanded_passwords,
    is_mostly_words,
    is_placeholder,
    looks_random,
    spoken_passwords,
)
from scrubjay.write.token_prefixes import PREFIXED_TOKENS

Span: TypeAlias = tuple[int, int]
"""Where a secret starts and stops in a text."""

Accept: TypeAlias = Callable[[str], bool]

TOKEN: Final = 20
"""Signs of the shortest token that nearly any rule finds, its prefix among them."""

SHORT_TOKEN: Final = 15
"""The same for the few rules that find shorter ones."""

TOKEN_SIGNS: Final = frozenset(f"{ascii_letters}{digits}-_./+=~%\\")
"""What tokens are made of, in every rule."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of secret: what gives it away, and where exactly it stands."""

    kind: str
    triggers: tuple[str, ...]
    """A text without any of these holds no such secret. In lower case they match any case; else they match exactly."""
    find: Callable[[str], Iterable[Span]]
    needs: str = ""
    """One of these characters must be there as well."""
    signs: int = TOKEN
    """Signs of a token that stand in a row in each of its secrets, at least; none in a password, which is anything."""


def _matching(pattern: str, *, accept: Accept | None = None, flags: int = 0) -> Callable[[str], Iterator[Span]]:
    """Find what the pattern matches: its group `secret` where it has one, else all of it."""
    compiled = re.compile(pattern, flags)
    group = "secret" if "secret" in compiled.groupindex else 0

    def find(text: str) -> Iterator[Span]:
        for match in compiled.finditer(text):
            if accept is None or accept(match[group]):
                yield match.span(group)

    return find


def _token(prefix: str, body: str) -> Callable[[str], Iterator[Span]]:
    """Find tokens that begin with a prefix of their own; a row of x, or words in place of one, is not a token."""
    return _matching(rf"(?<![A-Za-z0-9])(?:{prefix})(?:{body})", accept=_varied)


def _varied(token: str) -> bool:
    return len(set(token)) >= 10 and any(letter.isdigit() for letter in token)


def _varied_or_mixed(token: str) -> bool:
    """Some services draw from letters alone, large and small. Words are made of small ones."""
    is_mixed = len(set(token)) >= 12 and not token.islower() and not token.isupper()
    return _varied(token) or (is_mixed and not is_mostly_words(token))


def _is_no_name(token: str) -> bool:
    """Names of files, tables and functions are words, joined by signs or by capitals."""
    signs = sum(not letter.isalnum() for letter in token)
    return _varied(token) and signs <= len(token) // 8 and (token.isupper() or not is_mostly_words(token))


def _varied_and_random(token: str) -> bool:
    return _varied(token) and looks_random(token)


_KEY_BEGIN: Final = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_KEY_END: Final = re.compile(r"-----END (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_KEY_HEADER: Final = r"[A-Z][A-Za-z-]{2,20}:(?=[ \t])"
_KEY_LINES: Final = re.compile(
    # What precedes the body, such as `Proc-Type: 4,ENCRYPTED`. Each word can be read in one way only.
    rf"(?:\s++|\\{{1,16}}[nr]|{_KEY_HEADER}(?:[ \t]+(?!{_KEY_HEADER})[^\s\\]++)*)*"
    r"[A-Za-z0-9+/]{16,}={0,2}(?![A-Za-z0-9+/=])"
    r"(?:(?:\s|\\{1,16}[nr])+[A-Za-z0-9+/]{16,}={0,2}(?![A-Za-z0-9+/=]))*"
    r"(?:(?:\s|\\{1,16}[nr])+(?:[A-Za-z0-9+/]*={1,2}|=[A-Za-z0-9+/]{4})(?![A-Za-z0-9+/=]))*"  # the last
    r"(?:(?:\s|\\{1,16}[nr])+[A-Za-z0-9+/]{1,15}(?=\s*\Z))?"
)


def _private_keys(text: str) -> Iterator[Span]:
    """Find whole key blocks, also those that were cut off before their end; a header without a key is only a header."""
    begins = list(_KEY_BEGIN.finditer(text))
    ends = _KEY_END.finditer(text)
    end = next(ends, None)
    for place, begin in enumerate(begins):
        next_begin = begins[place + 1].start() if place + 1 < len(begins) else len(text)
        while end is not None and end.start() < begin.end():
            end = next(ends, None)
        lines = _KEY_LINES.match(text, begin.end(), next_begin)
        if lines is None:
            continue
        whole = end is not None and end.start() < next_begin
        yield begin.start(), end.end() if end is not None and whole else lines.end()


_URL_PASSWORD: Final = re.compile(r"://[^\s:/@?#'\"<>]{0,128}:(?P<secret>[^\s/?#'\"<>`]+)@(?=[\w\[$.{-])")


def _url_passwords(text: str) -> Iterator[Span]:
    for match in _URL_PASSWORD.finditer(text):
        if not is_placeholder(match["secret"]):
            yield match.span("secret")


def _names_a_user(encoded: str) -> bool:
    """Whether it is `user:password`, encoded: `Basic` is also an ordinary word."""
    try:
        user, colon, _ = b64decode(encoded + "=" * (-len(encoded) % 4), validate=True).partition(b":")
    except ValueError:
        return False
    return bool(colon) and user.isascii() and user.decode("ascii").isprintable()


def _mixed(value: str) -> bool:
    return (
        any(letter.islower() for letter in value)
        and any(letter.isupper() for letter in value)
        and any(letter.isdigit() for letter in value)
    )


_AWS_ACCESS_KEY: Final = r"(?<![A-Za-z0-9])(?:A3T[0-9A-Z]|AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}(?![A-Za-z0-9])"
_FORTY: Final = re.compile(r"(?<![A-Za-z0-9/+=])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])")


def _aws_secrets(text: str) -> Iterator[Span]:
    """Find forty mixed letters, which mean nothing alone; in a text with an access key they are its other half."""
    if re.search(_AWS_ACCESS_KEY, text):
        yield from (match.span() for match in _FORTY.finditer(text) if _mixed(match[0]))


def _plugin(module: str, detector: str, *, least: int = 0) -> Callable[[str], Iterator[Span]]:
    """Find what a detector of detect-secrets finds, if it is so long at least.

    The library takes a fifth of a second to load, so a rule says how long its secrets are, and only a text that has
    room for one loads it.
    """

    @cache
    def loaded() -> Any:  # noqa: ANN401 -- the library ships no types
        return getattr(import_module(f"detect_secrets.plugins.{module}"), detector)()

    def find(text: str) -> Iterator[Span]:
        for line in _LINE.finditer(text):
            # Its patterns take a time that grows with the square of a run of blanks, so they see one blank instead.
            found = loaded().analyze_string(_BLANKS.sub(" ", line[0]))
            for value in {value for value in found if len(value) >= least}:
                for match in re.finditer(re.escape(value), line[0]):
                    yield line.start() + match.start(), line.start() + match.end()

    return find


_LINE: Final = re.compile(r"[^\n]+")
_BLANKS: Final = re.compile(r"[ \t]{2,}")
_WORD: Final = r"[A-Za-z0-9_-]"

RULES: Final[tuple[Rule, ...]] = (
    # Most telling first: where two rules find the same thing, the earlier one names it.
    Rule("private-key", ("PRIVATE KEY",), _private_keys, needs="-", signs=SHORT_TOKEN),
    Rule(
        "private-key",
        ("Private-Lines:",),
        _matching(r"Private-Lines: ?\d+\s+(?P<secret>(?:[A-Za-z0-9+/=]+\s+)+)"),
        signs=0,
    ),
    Rule("private-key", ("AGE-SECRET-KEY-",), _matching(r"AGE-SECRET-KEY-1[A-Z0-9]{58}")),
    Rule("anthropic-key", ("sk-ant-",), _token("sk-ant-", rf"{_WORD}{{20,}}")),
    Rule(
        "openai-key",
        ("sk-",),
        _matching(rf"(?<![A-Za-z0-9])sk-(?!ant-){_WORD}{{20,}}", accept=_varied_and_random),
    ),
    Rule("scrubjay-key", ("sj_",), _token("sj_[0-9a-f]{16}_", "[A-Za-z0-9_-]{43}")),
    Rule("github-token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), _token("gh[pousr]_", "[A-Za-z0-9_]{30,}")),
    Rule("github-token", ("github_pat_",), _token("github_pat_", "[A-Za-z0-9_]{22,}")),
    Rule(
        "gitlab-token", ("gl",), _token("gl(?:pat|dt|ft|soat|rt|cbt|imt|ptt|agent|oas)-", rf"{_WORD}{{20,}}"), needs="-"
    ),
    Rule(
        "slack-token",
        ("xox", "xapp-"),
        _token("xox[abeoprs]-|xoxe\\.xox[bp]-|xapp-", r"[A-Za-z0-9-]{10,}"),
        needs="-",
        signs=SHORT_TOKEN,
    ),
    Rule(
        "slack-webhook",
        ("hooks.slack.com",),
        _matching(r"hooks\.slack\.com/(?:services|workflows)/(?P<secret>[A-Za-z0-9_/]{20,})"),
    ),
    Rule("aws-access-key", ("A3T", "AKIA", "ASIA", "ABIA", "ACCA"), _matching(_AWS_ACCESS_KEY)),
    Rule("aws-secret-key", ("AKIA", "ASIA"), _aws_secrets),
    Rule(
        "aws-secret-key",
        ("secret",),
        _matching(
            r"""secret[ _-]?access[ _-]?key["'\\]{0,3}\s{0,4}[:=]\s{0,4}["'\\]{0,2}"""
            r"(?P<secret>[A-Z0-9/+]{40})(?![A-Z0-9/+=])",
            flags=re.IGNORECASE,
        ),
        needs=":=",
    ),
    Rule("google-key", ("AIza",), _token("AIza", rf"{_WORD}{{35}}(?!{_WORD})")),
    Rule("google-token", ("ya29.", "GOCSPX-"), _token(r"ya29\.|GOCSPX-", rf"{_WORD}{{20,}}")),
    Rule(
        "azure-key",
        ("accountkey=", "sharedaccesskey="),
        _matching(r"(?:AccountKey|SharedAccessKey)=(?P<secret>[A-Za-z0-9+/]{40,}={0,2})", flags=re.IGNORECASE),
    ),
    Rule("azure-signature", ("sig=",), _matching(r"[?&]sig=(?P<secret>[A-Za-z0-9%+/=_-]{30,})", accept=_varied)),
    Rule("stripe-key", ("_live_", "_test_"), _token("[rs]k_(?:live|test)_", "[A-Za-z0-9]{16,}")),
    Rule("stripe-key", ("whsec_",), _token("whsec_", "[A-Za-z0-9+/=]{24,}")),
    Rule("twilio-key", ("AC", "SK"), _matching(r"(?<![A-Za-z0-9])(?:AC|SK)[0-9a-f]{32}(?![A-Za-z0-9])")),
    Rule("sendgrid-key", ("SG.",), _token(r"SG\.", rf"{_WORD}{{16,32}}\.{_WORD}{{32,64}}")),
    Rule("npm-token", ("npm_",), _token("npm_", "[A-Za-z0-9]{30,}")),
    Rule("npm-token", ("_authToken",), _matching(r":_authToken=(?P<secret>[A-Za-z0-9_+/=-]{20,})", accept=_varied)),
    Rule("pypi-token", ("pypi-",), _token("pypi-", rf"Ag{_WORD}{{50,}}")),
    Rule(
        "hugging-face-token",
        ("hf_", "api_org_"),
        _matching(r"(?<![A-Za-z0-9])(?:hf_|api_org_)[A-Za-z0-9]{30,}", accept=_varied_or_mixed),
    ),
    *(Rule(one.kind, one.prefixes, _matching(one.pattern, accept=_is_no_name)) for one in PREFIXED_TOKENS),
    Rule("digitalocean-token", ("_v1_",), _token("do[opr]_v1_", "[a-f0-9]{32,}")),
    Rule("telegram-token", (":AA",), _matching(rf"(?<![A-Za-z0-9])\d{{8,10}}:AA{_WORD}{{32,34}}(?!{_WORD})")),
    Rule(
        "discord-token",
        (".",),
        _matching(rf"[MNO](?<!{_WORD}.){_WORD}{{23,27}}\.{_WORD}{{6}}\.{_WORD}{{27,40}}(?!{_WORD})", accept=_mixed),
    ),
    Rule(
        "discord-webhook",
        ("/webhooks/",),
        _matching(rf"discord(?:app)?\.com/api/webhooks/\d{{5,25}}/(?P<secret>{_WORD}{{20,}})"),
    ),
    Rule(
        "jwt",
        ("eyJ",),
        _matching(rf"(?<!{_WORD})eyJ{_WORD}{{8,}}={{0,2}}\.eyJ{_WORD}{{8,}}={{0,2}}(?:\.{_WORD}*={{0,2}})?"),
        needs=".",
    ),
    # Which also finds access keys, as a rule above does without it.
    Rule("aws-secret-key", ("aws",), _plugin("aws", "AWSKeyDetector", least=40), needs="'\"", signs=40),
    Rule("cloudant-key", ("cloudant",), _plugin("cloudant", "CloudantDetector"), signs=24),
    Rule("ibm-key", ("ibm",), _plugin("ibm_cloud_iam", "IbmCloudIamDetector"), signs=44),
    Rule("ibm-key", ("cos_", "cos-", "ibm"), _plugin("ibm_cos_hmac", "IbmCosHmacDetector"), signs=48),
    Rule("mailchimp-key", ("-us",), _matching(r"[0-9a-f](?<![0-9A-Za-z].)[0-9a-f]{31}-us\d{1,2}(?![0-9A-Za-z])")),
    Rule("softlayer-key", ("softlayer", "sl_", "sl-"), _plugin("softlayer", "SoftlayerDetector"), signs=64),
    Rule("square-secret", ("sq0csp-",), _plugin("square_oauth", "SquareOAuthDetector"), signs=50),
    Rule("url-password", ("://",), _url_passwords, signs=0),
    Rule(
        "bearer-token",
        ("bearer",),
        _matching(
            r"\bbearer\s{1,3}(?P<secret>[A-Za-z0-9._~+/=-]{16,})", accept=_varied_and_random, flags=re.IGNORECASE
        ),
        signs=SHORT_TOKEN,
    ),
    Rule(
        "basic-authorization",
        ("basic ",),
        _matching(r"\bbasic\s{1,3}(?P<secret>[A-Za-z0-9+/]{6,}={0,2})", accept=_names_a_user, flags=re.IGNORECASE),
        signs=0,
    ),
    Rule("password", ("pass", "pwd", "pw"), assigned_passwords, needs=":=", signs=0),
    Rule("password", ("pass", "identified by", "curl", "mysql"), commanded_passwords, needs="-'<", signs=0),
    Rule("password", ("password", "passphrase", "passcode"), spoken_passwords, signs=0),
    Rule(
        "credential",
        ("secret", "token", "key", "credential", "auth"),
        assigned_secrets,
        needs=":=",
        signs=0,
    ),
)
