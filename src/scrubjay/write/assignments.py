"""What a secret looks like beside its name: `password = …`, `Passwort: …`, `my password is …`, `| api key | … |`.

A name alone proves nothing, since most of what follows `password:` in code and prose is a type, a variable, a rule or
a placeholder. So `secret_values` judges the value: strictly after names such as `token`, which have other meanings, and
less so after `password`.
"""

import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, TypeAlias

from scrubjay.write.normalize import normalized
from scrubjay.write.secret_values import (
    is_bare_password,
    is_literal_password,
    is_random_secret,
    is_spoken_of,
    is_told_password,
    looks_random,
)

Span: TypeAlias = tuple[int, int]
"""Where a secret starts and stops in a text."""

Finder: TypeAlias = Callable[[str], Iterator[Span]]


class Name(NamedTuple):
    """What a secret is called."""

    begins: tuple[str, ...]
    """A text without any of these, in lower case, does not name it."""
    pattern: str
    """Begins with a plain set of letters, so that the search leaps from one candidate to the next."""


PASSWORDS: Final = (
    Name(  # English, German, and what many languages borrowed
        ("pass", "pwd", "pw"),
        r"[Pp](?i:ass(?:word|wd|phrase|code|w(?:o|ö|oe)rt)|wd|(?<![A-Za-z0-9].)w|(?<=_.)ass)\d?",
    ),
    Name(("kennwort",), r"[Kk](?i:ennwort)"),  # German
    Name(("pass", "mdp"), r"[Mm](?i:ot[ _-]?de[ _-]?passe|(?<![A-Za-z0-9].)dp(?![A-Za-z0-9]))"),  # French
    Name(("contrase",), r"[Cc](?i:ontrase[ñn]a)"),  # Spanish
    Name(("clave",), r"[Cc](?<!palabra .)(?i:lave)(?! de (?:la )?API)(?i: de acceso)?"),
    Name(("parola",), r"[Pp](?i:arola)(?i: d['’](?:ordine|accesso))?"),  # Italian, Turkish, Romanian
    Name(("senha",), r"[Ss](?i:enha)"),  # Portuguese
    Name(("pass",), r"[Pp](?i:alavra[ -]passe)"),
    Name(("wachtwoord",), r"[Ww](?i:achtwoord)"),  # Dutch
    Name(("senord",), r"[Ll](?i:[öo]senord)"),  # Swedish
    Name(("adgangskode",), r"[Aa](?i:dgangskode)"),  # Danish
    Name(("hasł", "haslo"), r"[Hh](?i:as[łl]o)"),  # Polish
    Name(("heslo",), r"[Hh](?i:eslo)"),  # Czech
    Name(("ifre",), r"[ŞşSs](?i:ifre)(?:n?iz|m|si)?"),  # Turkish
    Name(("парол",), r"[Пп](?i:арол)[а-яь]{0,3}"),  # Russian, Ukrainian
    Name(("密码", "密碼", "口令"), "[密口](?:码|碼|令)"),  # Chinese
    Name(("パス", "ﾊﾟｽ"), "[パﾊ](?:ス(?:ワー[ドト]|コー[ドト]|フレーズ)|ﾟｽﾜｰﾄﾞ?)"),  # Japanese
    Name(("暗証番号", "合言葉"), "[暗合](?:証番号|言葉)"),
    Name(("비밀번호", "패스워드", "암호"), "[비패암](?:밀번호|스워드|호)"),  # Korean
)
"""Names beside which any literal is a password, in twenty languages."""

_OWNER: Final = r"(?:api|app|access|secret|private|encryption|signing|account|auth|master|service|license|deploy)[ _-]?"
_ENGLISH: Final = r"[KTSCAktsca](?i:(?<=k)ey|(?<=t)oken|(?<=s)ecret|(?<=c)redentials?|(?<=a)uth(?:orization)?)"

SECRETS: Final = (
    Name(("secret", "token", "key", "credential", "auth"), _ENGLISH),
    Name(
        ("schlüssel", "schluessel"), r"[AaZzGgPp](?i:pi|ugriffs|ugangs|eheim|rivat)[\w]{0,3}[ _-]?(?i:schl(?:ü|ue)ssel)"
    ),
    Name(("geheimnis",), r"[Gg](?i:eheimnis)"),  # German
    Name(
        ("clé", "cle "),
        r"[Cc](?i:l[ée](?: d['’]| de l['’]|[ _-])(?:api|acc[èe]s|secr[èe]te|priv[ée]e)(?: d['’]api| api)?)",
    ),
    Name(("jeton",), r"[Jj](?i:eton)(?i: d['’](?:acc[èe]s|api)| api)?"),  # French
    Name(("clave",), r"[Cc](?i:lave (?:de (?:la )?)?(?:api|acceso|secreta|privada)(?: de)?(?: api)?)"),  # Spanish
    Name(("chiave",), r"[Cc](?i:hiave (?:di |d['’]|dell['’])?(?:api|accesso|segreta|privata)(?: api)?)"),  # Italian
    Name(("chave",), r"[Cc](?i:have (?:d[ea] )?(?:api|acesso|secreta|privada)(?: d[ea])?(?: api)?)"),  # Portuguese
    Name(("ключ",), r"[AaСсПпКк](?i:(?:pi|екретн\w{1,3}|риватн\w{1,3})[ -]ключ|люч api)"),  # Russian
    Name(("токен",), r"[Тт](?i:окен)[а-я]{0,2}"),
    Name(("密钥", "密鑰", "金钥", "金鑰", "令牌"), "[密金令](?:钥|鑰|牌)"),  # Chinese
    Name(("キー", "鍵"), "[AaアシCc秘](?:(?i:pi)|クセス|ークレット|密)[ ]?(?:キー|鍵)"),  # Japanese
    Name(("シークレット", "トークン"), "[シト]ーク(?:レット(?!キー)|ン)"),
    Name(("키", "토큰"), "[Aa토](?:(?i:pi) ?키|큰)"),  # Korean
)
"""Names that have other meanings too, so that what stands beside them must look random."""

_KEY_OWNER: Final = re.compile(rf"{_OWNER}\Z", re.IGNORECASE)
_TOKEN_OWNER: Final = re.compile(
    r"(?:page|next|continuation|cancellation|sync|pad|eos|bos|unk|mask|sep|cls|stop|start|end|special)[ _-]?\Z",
    re.IGNORECASE,
)
_SCHEME: Final = re.compile(r"(?:bearer|basic|token|digest|apikey)[ \t]+", re.IGNORECASE)

_SEPARATOR: Final = (
    # What closes the name, such as a quote or Markdown, and what may be said of it in brackets.
    r"""(?:\\*+["'`\])*_~])*+(?:[ \t]?\([^()\n]{1,40}\))?(?P<gap>[ \t]{0,32})"""
    # A sign, the border of a cell of a table, a dash between blanks; the value may stand on the next line.
    r"""(?:(?P<sign>:=|=>|={1,2}|:|\||</\w{1,10}>\s{0,8}<\w{1,10}>|(?<=[ \t])(?:->|→|[–—-])(?=[ \t]))"""
    r"""[*_~`]{0,3}[ \t]{0,32}(?P<line>\r?\n[ \t]{0,16})?|(?P<alone>\r?\n[ \t]{0,16}))"""
    r"""(?P<mark>(?<![_*~])[*_~]{1,3})?[“‘«„]?(?!\[redacted:)"""
)
_ABOUT: Final = (
    r"[ \t](?i:for|of|to|on|at|für|vom|von|zum|zur|des|der|pour|du|de|da|do|del|della|dello|di|per|para|voor|для|от|на)"
    r"\b[^\n.:=?!|]{1,40}?"
)
_IS: Final = (
    r"[ \t]{1,4}(?i:is|was|are|ist|war|lautet|lautete|hei(?:ß|ss)t|est|était|es|era|è|é|jest|är|является)"
    r"(?:[ \t]{0,4}:|[ \t](?i:now|still|set to|just|jetzt|noch|maintenant|toujours|ahora|ora|agora|теперь)\b)?"
)
_OPENING: Final = r"""(?:["'`“‘„*_「『]{1,3}|« ?)?"""
_TOLD: Final = (
    rf"""["'`*_»”]{{0,3}}s?(?:{_ABOUT}(?:[ \t]?:|{_IS})|{_IS})\s{{1,4}}{_OPENING}(?P<value>[^\s"'`“”‘’«»]{{6,64}})"""
)
"""What follows the name in a sentence: `the password for the staging box is …`, `mein Passwort lautet: …`."""

_TOLD_IN_CJK: Final = (
    r"(?![ァ-ヴー学])[^\n。]{0,20}?(?:(?:是|为|為|は|[이가은는]):?|:)\s{0,4}"
    rf"{_OPENING}(?P<value>[!#-&(-_a-~]{{6,64}})"
)
"""The same where no blank divides words: `我的密码是…`, `パスワードは…です`."""

_SIZE: Final = 256
"""How much of a value is judged. Longer ones are taken to their end."""

_QUOTED: Final = re.compile(
    rf"""(?i:[rbuf]{{0,2}})(?P<quote>\\*+["'`])(?P<value>(?:(?!(?P=quote))[^\n]){{1,{_SIZE}}})"""
)
_CJK: Final = "\u2e80-\u9fff\uac00-\ud7ff\uf900-\ufaff"
_NO_END: Final = rf"""[^\s"'`<>(){{}}\[\],;\\“”‘’«»„&|{_CJK}]*+"""
_RUN: Final = re.compile(rf"{_NO_END}(?:(?:&(?![A-Za-z_][\w.-]{{0,40}}=)|\|(?=[^\s|])){_NO_END})*+")
_END_OF_LINE: Final = re.compile(r"[*_~.]{0,3}[ \t]*(?:[\r\n]|\Z)")

_TRIES: Final = 16
"""Names in one run of characters whose values are judged. Only a text that is made to cost time has more."""


class _Runs:
    """Where values without quotes stop. Each character is looked at once, however many names stand in the text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._stop = 0
        self._tries = 0

    def stop_of(self, start: int) -> int:
        """Where the value that begins here stops; here, if there is none that is worth judging."""
        if start >= self._stop:
            run = _RUN.match(self._text, start)
            self._stop = run.end() if run is not None else start
            self._tries = 0
        self._tries += 1
        called = self._text[self._stop : self._stop + 1] in ("(", "[", "{")
        return start if called or self._tries > _TRIES else self._stop


def passwords_named(name: Name) -> Finder:
    """Find what is assigned to this name of a password, or told of it in a sentence."""
    sites = re.compile(f"(?P<name>{name.pattern}){_SEPARATOR}")
    told = _told(name, is_told_password)

    def find(text: str) -> Iterator[Span]:
        yield from told(text)
        runs, done = _Runs(text), 0
        for site in sites.finditer(text):
            start, sign = site.end(), site["sign"] or ""
            if site.start() < done:
                continue
            quoted = _QUOTED.match(text, start)
            if quoted is not None:
                if sign and is_literal_password(quoted["value"], by_equals="=" in sign):
                    yield quoted.span("value")
                continue
            stop = runs.stop_of(start)
            below = site["line"] is not None or site["alone"] is not None
            if below and not _END_OF_LINE.match(text, stop):
                continue
            value = _trimmed(text[start : min(stop, start + _SIZE)], site["mark"])
            from_environment = sign == "=" and not site["gap"] and site["name"].isupper()
            if is_bare_password(value) or (from_environment and is_literal_password(value, by_equals=True)):
                done = stop if stop - start > _SIZE else start + len(value)
                yield start, done

    return find


def secrets_named(name: Name) -> Finder:
    """Find random-looking values that are assigned to this name, such as `api_key`, or told of it."""
    sites = re.compile(f"(?P<name>{name.pattern}){_SEPARATOR}")
    told = _told(name, is_random_secret)

    def find(text: str) -> Iterator[Span]:
        yield from told(text)
        runs, done = _Runs(text), 0
        for site in sites.finditer(text):
            if site.start() < done or not site["sign"]:
                continue
            start = site.end()
            quoted = _QUOTED.match(text, start)
            if quoted is not None:
                start = quoted.start("value")
            scheme = _SCHEME.match(text, start)
            if scheme is not None:
                start = scheme.end()
            in_quotes = quoted is not None and " " not in quoted["value"]
            stop = quoted.end() if quoted is not None and in_quotes else runs.stop_of(start)
            value = _trimmed(text[start : min(stop, start + _SIZE)], site["mark"])
            if is_random_secret(value) and _keeps_secrets(text, site):
                done = stop if stop - start > _SIZE else start + len(value)
                yield start, done

    return find


def _keeps_secrets(text: str, site: re.Match[str]) -> bool:
    """Whether the words before the name leave it telling: an `api_key` is a secret, a `cache_key` is none."""
    name, owner = site["name"].lower(), text[max(0, site.start() - 14) : site.start()]
    if name == "key":
        return _KEY_OWNER.search(owner) is not None
    return name != "token" or _TOKEN_OWNER.search(owner) is None


def _trimmed(value: str, mark: str | None) -> str:
    """Without what ends a sentence, or closes the emphasis that was opened before the value."""
    return (value.removesuffix(mark) if mark else value).rstrip(".:)")


def _told(name: Name, judge: Callable[[str], bool]) -> Finder:
    """Find secrets told in a sentence: `my password is …`. Only what no ordinary word looks like."""
    divided = name.begins[0] < "\u2e80"
    sites = re.compile(rf"(?:{name.pattern}){_TOLD if divided else _TOLD_IN_CJK}")

    def find(text: str) -> Iterator[Span]:
        for site in sites.finditer(text):
            value = site["value"].rstrip(".,;:!?)*_")
            if judge(value):
                # What ends the sentence may as well end the password.
                yield site.start("value"), site.start("value") + len(site["value"].rstrip(".,;:)*_"))

    return find


_CELLS: Final = re.compile(r"[|\t,;]")
_ALL_NAMES: Final = "|".join(name.pattern for name in PASSWORDS)
_NAME_CELL: Final = rf"[ *\"]{{0,8}}(?:[\w-]{{1,24}}[ _-])?(?:{_ALL_NAMES})[ *\"]{{0,40}}"
_HEADING: Final = re.compile(rf"(?:(?<=[|\t,;]){_NAME_CELL}(?=[|\t,;\r\n])|(?:\A|(?<=\n)){_NAME_CELL}(?=[|\t,;]))")


def passwords_in_columns(text: str) -> Iterator[Span]:
    """Find what stands in rows below a cell that names a password: in Markdown, or divided by commas or tabs."""
    done = 0
    for heading in _HEADING.finditer(text):
        if heading.start() < done:
            continue
        stop = text.find("\n", heading.end())
        if stop < 0:
            return
        begin = text.rfind("\n", done, heading.start()) + 1 or done
        line = text[begin:stop]
        sign = next(iter(_CELLS.findall(line)), "")
        cells, column = line.count(sign) if sign else 0, text.count(sign, begin, heading.start()) if sign else 0
        done = stop
        while cells and stop >= 0 and done < len(text):
            begin, stop = done + 1, text.find("\n", done + 1)
            row = text[begin : stop if stop >= 0 else len(text)]
            if row.count(sign) != cells:
                break
            done = begin + len(row)
            before = row.split(sign, column + 1)
            value = before[column].strip(" \t\r\"'*`")
            start = begin + sum(map(len, before[:column])) + column
            if is_bare_password(value):
                start += before[column].index(value)
                yield start, start + len(value)


# fmt: off
_PASSWORD_WORDS: Final = frozenset({
    "password", "passwords", "passwd", "passphrase", "passphrases", "passcode", "pwd", "pw", "passwort",
})
_SECRET_WORDS: Final = frozenset({
    "secret", "secrets", "credential", "credentials", "authorization", "apikey", "apikeys", "secretkey", "accesskey",
    "privatekey", "cookie", "cookies",
})
# fmt: on
_NAME_PARTS: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_OTHER_PASSWORD: Final = re.compile("(?:" + "|".join(name.pattern for name in PASSWORDS[1:]) + r")\Z")
_OTHER_SECRET: Final = re.compile("(?:" + "|".join(name.pattern for name in SECRETS[1:]) + r")\Z")


def _meaning_of(name: str) -> str:
    """What a field of this name holds: a password, a secret, a token, or none of these (empty).

    The last words of the name decide: `db_password` and `apiKey` do, `token_count`, `password_hash` and `key` do not.
    """
    name = normalized(name).text.strip()
    parts = [part.lower() for part in _NAME_PARTS.findall(name)]
    last, owner = parts[-1] if parts else "", parts[-2] if len(parts) > 1 else ""
    if last in _PASSWORD_WORDS or _OTHER_PASSWORD.search(name):
        return "password"
    if last in ("token", "accesstoken", "authtoken"):
        return "" if _TOKEN_OWNER.search(owner) else "token"
    is_key = last in ("key", "keys") and _KEY_OWNER.fullmatch(owner)
    return "secret" if is_key or last in _SECRET_WORDS or _OTHER_SECRET.search(name) else ""


def names_a_credential(name: str, value: str) -> bool:
    """Whether a field of this name with this value holds a credential."""
    if len(value) < 4 or is_spoken_of(value):
        return False
    match _meaning_of(name):
        case "password":
            return True
        case "token":
            return len(value) >= 8 and not value.isalpha() and " " not in value.removeprefix("Bearer ")
        case "secret":
            return len(value) >= 8 and value.count(" ") <= 2
        case _:
            return False


def names_a_credential_in_text(name: str, value: str) -> bool:
    """The same for a field of JSON in a text, such as a form, a translation or code: its value is judged as well."""
    if not names_a_credential(name, value):
        return False
    is_password = _meaning_of(name) == "password"
    return is_literal_password(value, by_equals=False) if is_password else looks_random(value)
