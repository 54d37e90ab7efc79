"""Redaction on a labelled set: made-up secrets of many kinds in the places where people leave them, and what only looks
like one. Made from a seed, so that no real secret and nothing that looks stolen lies in this repository.
"""

import base64
import hashlib
import random
import string
import uuid

from scrubjay.write.redact import SecretRedactor

LETTERS = string.ascii_letters + string.digits


def _text(rng: random.Random, many: int, alphabet: str = LETTERS) -> str:
    # A digit and a capital are in every generated credential; a draw without them is drawn again.
    while True:
        drawn = "".join(rng.choices(alphabet, k=many))
        if any(letter.isdigit() for letter in drawn):
            return drawn


def _password(rng: random.Random) -> str:
    word = rng.choice(("otter", "maple", "comet", "harbor", "velvet", "cobalt"))
    return f"{word.capitalize()}{rng.choice('!@#%+=')}{rng.randrange(100, 9999)}{rng.choice(string.ascii_letters)}"


KINDS = {
    "github": lambda rng: "ghp_" + _text(rng, 36),
    "gitlab": lambda rng: "glpat-" + _text(rng, 20),
    "slack": lambda rng: f"xoxb-{rng.randrange(10**11, 10**12)}-{rng.randrange(10**12, 10**13)}-{_text(rng, 24)}",
    "aws id": lambda rng: "AKIA" + _text(rng, 16, string.ascii_uppercase + string.digits),
    "stripe": lambda rng: "sk_live_" + _text(rng, 24),
    "openai": lambda rng: "sk-proj-" + _text(rng, 48),
    "google": lambda rng: "AIza" + _text(rng, 35),
    "npm": lambda rng: "npm_" + _text(rng, 36),
    "hugging face": lambda rng: "hf_" + _text(rng, 34),
    "jwt": lambda rng: ".".join(
        base64.urlsafe_b64encode(part.encode()).decode().rstrip("=")
        for part in ('{"alg":"HS256","typ":"JWT"}', f'{{"sub":"{rng.randrange(10**9)}"}}', _text(rng, 32))
    ),
    "password": _password,
    "random api key": lambda rng: _text(rng, 32),
    "hex api key": lambda rng: _text(rng, 40, "0123456789abcdef"),
    "url password": lambda rng: _password(rng).replace("#", "-").replace("%", "-").replace("@", "-"),
    "private key": lambda rng: "\n".join(_text(rng, 64, LETTERS + "+/") for _ in range(5)),
}

_ANY = (
    'TOKEN = "{}"',
    "token: {}",
    'export API_TOKEN="{}"',
    '"apiKey": "{}",',
    "curl -H 'Authorization: Bearer {}'",
    "// {}",
)
_NAMED = (
    'password = "{}"',
    "DB_PASSWORD={}",
    '"password": "{}",',
    "  password: {}",
    'connect(user="a", password="{}")',
)
_KEYED = ('api_key = "{}"', "SECRET_KEY={}", '"client_secret": "{}",', "  apiKey: {}", 'const secret = "{}";')
PLACES = {
    "password": _NAMED,
    "random api key": _KEYED,
    "hex api key": _KEYED,
    "url password": (
        "postgres://shop:{}@db.internal:5432/shop",
        'url = "https://ann:{}@example.org/git"',
        "redis://:{}@cache:6379/0",
    ),
    "private key": (
        "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----",
        'KEY = """-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----"""',
    ),
}


def _sha(rng: random.Random, name: str) -> str:
    return hashlib.new(name, rng.randbytes(16)).hexdigest()


LOOKALIKES = (
    lambda rng: f'"integrity": "sha512-{base64.b64encode(rng.randbytes(64)).decode()}",',
    lambda rng: f"requests==2.31.0 --hash=sha256:{_sha(rng, 'sha256')}",
    lambda rng: f"commit {_sha(rng, 'sha1')}",
    lambda rng: f"github.com/a/b v1.2.3 h1:{base64.b64encode(rng.randbytes(32)).decode()}",
    lambda rng: f'checksum = "{_sha(rng, "sha256")}"',
    lambda rng: f"id = UUID('{uuid.UUID(int=rng.getrandbits(128))}')",
    lambda rng: f'etag: W/"{_sha(rng, "md5")}"',
    lambda rng: f'<img src="data:image/png;base64,{base64.b64encode(rng.randbytes(60)).decode()}">',
    lambda rng: f'cache_key = "user:{rng.randrange(10**6)}:{_sha(rng, "md5")[:12]}"',
    lambda rng: f'next_page_token = "{_text(rng, 24)}"',
    lambda rng: f"uses: actions/checkout@{_sha(rng, 'sha1')}",
    lambda _: 'password = os.environ["DB_PASSWORD"]',
    lambda _: "password: str | None = None",
    lambda _: 'token = request.headers.get("Authorization")',
    lambda _: 'api_key="<your-api-key>"',
    lambda _: "PASSWORD=changeme",
    lambda _: "secret: ${{ secrets.DEPLOY_KEY }}",
    lambda _: 'password_label = "Password"',
    lambda _: "def reset_password(user, new_password): ...",
    lambda _: "tokens = tokenizer.encode(text)",
    lambda _: 'assert response.json()["token"] is not None',
    lambda _: "secret_key_base: <%= ENV['SECRET_KEY_BASE'] %>",
    lambda rng: f'public_key = "ssh-ed25519 {base64.b64encode(rng.randbytes(51)).decode()} ann@example"',
    lambda rng: f'version = "{rng.randrange(9)}.{rng.randrange(20)}.0-beta.{rng.randrange(9)}+{_sha(rng, "sha1")[:7]}"',
    lambda rng: f"keyframes-{_text(rng, 6)} {{ from {{ opacity: 0 }} }}",
)


def labelled(seed: int = 7, each: int = 20) -> list[tuple[str, str, str]]:
    """Texts, each with its kind and the secret in it; the secret is empty when there is none."""
    rng = random.Random(seed)
    found = []
    for kind, made in KINDS.items():
        for place in PLACES.get(kind, _ANY):
            for _ in range(each):
                secret = made(rng)
                found.append((kind, place.format(secret), secret))
    for number, lookalike in enumerate(LOOKALIKES):
        found += [(f"lookalike {number}", lookalike(rng), "") for _ in range(each)]
    return found


def measured() -> tuple[list[tuple], list[tuple]]:
    """Rows for each kind: how many there were and how many went; and all together: precision, recall."""
    redactor = SecretRedactor()
    rows: dict[str, list[bool]] = {}
    right = wrong = missed = 0
    for kind, text, secret in labelled():
        clean, kinds = redactor.redact(text)
        if secret:
            # Gone means that no stretch of it is left that would help to guess it.
            gone = not any(secret[start : start + 8] in clean for start in range(0, max(1, len(secret) - 8), 4))
            right, missed = right + gone, missed + (not gone)
            rows.setdefault(kind, []).append(gone)
        else:
            wrong += bool(kinds)
            rows.setdefault("lookalikes left alone", []).append(not kinds)
    table = [(kind, len(gone), sum(gone) / len(gone)) for kind, gone in rows.items()]
    return table, [("precision", right / (right + wrong)), ("recall", right / (right + missed))]
