"""The table of secrets: what each kind looks like, what begins it, and who documents it.

Most are tokens that their service gives a prefix of its own. The last rows are passwords and keys beside their name,
in `assignments.py`, and in commands and headers, in `commands.py`.

To add a row, take the shape from the documentation of the service, name that page, and add a made-up secret to
`tests/unit/write/secrets.jsonl`. Every pattern reads a hostile text in linear time: a run of characters is entered at
its beginning only, or is bounded.
"""

import re
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator
from string import ascii_letters, digits
from typing import Final, NamedTuple, TypeAlias

from scrubjay.write.assignments import (
    PASSWORDS,
    SECRETS,
    Finder,
    Span,
    passwords_in_columns,
    passwords_named,
    secrets_named,
)
from scrubjay.write.commands import WORD_END, cookies, passwords_of_options, passwords_of_statements
from scrubjay.write.secret_values import (
    is_mostly_words,
    is_placeholder,
    is_spoken_of,
    looks_random,
)

Accept: TypeAlias = Callable[[str], bool]

TOKEN: Final = 15
"""Signs of the shortest token, its prefix among them."""

TOKEN_SIGNS: Final = frozenset(f"{ascii_letters}{digits}-_./+=~%$\\")
"""What tokens are made of, in every rule."""


class Rule(NamedTuple):
    """One kind of secret: what gives it away, where exactly it stands, and who says so."""

    kind: str
    begins: tuple[str, ...]
    """A text without any of these holds no such secret. In lower case they match any case; else they match exactly."""
    find: Callable[[str], Iterable[Span]]
    source: str
    """The page that documents the shape."""
    is_token: bool = True
    """Whether so many signs of a token stand in a row in each; none need to in a password, which is anything."""
    begins_it: bool = False
    """Whether these are the first letters of the secret, which no other letter precedes; then they match exactly."""


def _matching(pattern: str, accept: Accept | None = None) -> Finder:
    """Find what the pattern matches: its group `secret` where it has one, else all of it."""
    compiled = re.compile(pattern)
    group = "secret" if "secret" in compiled.groupindex else 0

    def find(text: str) -> Iterator[Span]:
        for match in compiled.finditer(text):
            if accept is None or accept(match[group]):
                yield match.span(group)

    return find


def _is_varied(token: str) -> bool:
    """A row of x, or words in place of one, is not a token."""
    return len(set(token)) >= 10 and any(letter.isdigit() for letter in token)


def _is_varied_or_mixed(token: str) -> bool:
    """Some services draw from letters alone, large and small. Words are made of small ones."""
    is_mixed = len(set(token)) >= 12 and not token.islower() and not token.isupper()
    return _is_varied(token) or (is_mixed and not is_mostly_words(token))


def _is_no_name(token: str) -> bool:
    """Names of files, tables and functions are words, joined by signs or by capitals."""
    signs = sum(not letter.isalnum() for letter in token)
    return _is_varied(token) and signs <= len(token) // 8 and (token.isupper() or not is_mostly_words(token))


def _is_varied_and_random(token: str) -> bool:
    return _is_varied(token) and looks_random(token)


def _is_mixed(value: str) -> bool:
    return not value.islower() and not value.isupper() and any(letter.isdigit() for letter in value)


def _token(kind: str, prefixes: str, body: str, source: str, accept: Accept = _is_no_name) -> Rule:
    """A token with a prefix of its own; several are divided by `|`."""
    begins = tuple(prefixes.split("|"))
    pattern = rf"(?<![A-Za-z0-9])(?:{'|'.join(map(re.escape, begins))})(?:{body})"
    return Rule(kind, begins, _matching(pattern, accept), source, begins_it=True)


def _named(kind: str, begins: str, service: str, secret: str, source: str, accept: Accept | None = None) -> Rule:
    """A secret without a prefix, which a word of its service precedes by fifty characters at most."""
    gap = r"""[\w .-]{0,40}?["'\\]{0,3}\s{0,4}(?:=>|:=|[:=,]|is|for\b[^\n'"]{1,30})\s{0,4}["'\\]{0,3}"""
    pattern = rf"(?i:{service}){gap}(?P<secret>{secret})(?![A-Za-z0-9+/=])"
    return Rule(kind, tuple(begins.split("|")), _matching(pattern, accept), source)


_KEY_BEGIN: Final = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_KEY_END: Final = re.compile(r"-----END (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_KEY_HEADER: Final = r"[A-Z][A-Za-z-]{2,20}:(?=[ \t])"
_KEY_LINES: Final = re.compile(
    # What precedes the body, such as `Proc-Type: 4,ENCRYPTED`. Each word can be read in one way only.
    rf"(?:\s++|{_KEY_HEADER}(?:[ \t]+(?!{_KEY_HEADER})[^\s\\]++)*)*"
    r"[A-Za-z0-9+/]{16,}={0,2}(?![A-Za-z0-9+/=])"
    r"(?:\s+[A-Za-z0-9+/]{16,}={0,2}(?![A-Za-z0-9+/=]))*"
    r"(?:\s+(?:[A-Za-z0-9+/]*={1,2}|=[A-Za-z0-9+/]{4})(?![A-Za-z0-9+/=]))*"  # the last
    r"(?:\s+[A-Za-z0-9+/]{1,15}(?=\s*\Z))?"
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


_AWS_ACCESS_KEY: Final = r"(?<![A-Za-z0-9])(?:A3T[0-9A-Z]|AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}(?![A-Za-z0-9])"
_FORTY: Final = re.compile(r"(?<![A-Za-z0-9/+=])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])")


def _aws_secrets(text: str) -> Iterator[Span]:
    """Find forty mixed letters, which mean nothing alone; in a text with an access key they are its other half."""
    if re.search(_AWS_ACCESS_KEY, text):
        yield from (match.span() for match in _FORTY.finditer(text) if _is_mixed(match[0]))


_L: Final = "[A-Za-z0-9]"
_W: Final = "[A-Za-z0-9_-]"
_X: Final = "[0-9a-f]"
_UUID: Final = "[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"

# fmt: off
TOKENS: Final[tuple[Rule, ...]] = (
    # Most telling first: where two rules find the same thing, the earlier one names it.
    Rule("private-key", ("PRIVATE KEY",), _private_keys, "RFC 7468, RFC 9580; OpenSSH: PROTOCOL.key"),
    Rule("private-key", ("private-lines:",), _matching(r"Private-Lines: ?\d+\s+(?P<secret>(?:[A-Za-z0-9+/=]+\s+)+)"),
         "PuTTY manual, appendix C: PPK file format", is_token=False),
    _token("private-key", "AGE-SECRET-KEY-1", "[A-Z0-9]{58}", "age-encryption.org/v1", _is_varied),
    # Models
    _token("anthropic-key", "sk-ant-", f"{_W}{{20,}}", "platform.claude.com: API overview", _is_varied),
    Rule("openai-key", ("sk-",), _matching(rf"(?<![A-Za-z0-9])sk-(?!ant-){_W}{{20,}}", _is_varied_and_random),
         "platform.openai.com: API reference; DeepSeek, OpenRouter and Langfuse do the same", begins_it=True),
    _token("hugging-face-token", "hf_|api_org_", f"{_L}{{30,}}", "huggingface.co/docs/hub/security-tokens",
           _is_varied_or_mixed),
    _token("groq-key", "gsk_", f"{_L}{{40,}}", "console.groq.com/docs/quickstart"),
    _token("perplexity-key", "pplx-", f"{_L}{{40,}}", "docs.perplexity.ai: API keys"),
    _token("replicate-token", "r8_", f"{_L}{{36,}}", "replicate.com/docs/topics/security/api-tokens"),
    _token("xai-key", "xai-", f"{_L}{{60,}}", "docs.x.ai: API keys"),
    _token("nvidia-key", "nvapi-", f"{_W}{{60,}}", "docs.nvidia.com/nim: NGC API keys"),
    _token("cerebras-key", "csk-", f"{_L}{{40,}}", "inference-docs.cerebras.ai: quickstart"),
    _token("together-key", "tgp_v1_", f"{_W}{{40,}}", "docs.together.ai: API keys"),
    _token("jina-key", "jina_", f"{_W}{{50,}}", "jina.ai/reader: API key"),
    _token("voyage-key", "pa-", f"{_W}{{40,}}", "docs.voyageai.com: API key and installation"),
    _token("tavily-key", "tvly-", "(?:dev-|prod-)?[A-Za-z0-9_-]{20,}", "docs.tavily.com: quickstart"),
    _token("firecrawl-key", "fc-", f"{_X}{{32}}", "docs.firecrawl.dev/api-reference"),
    _token("elevenlabs-key", "sk_", f"{_X}{{48}}", "elevenlabs.io/docs: API authentication"),
    _token("e2b-key", "e2b_", f"{_X}{{40}}", "e2b.dev/docs: API key"),
    _token("langsmith-key", "lsv2_pt_|lsv2_sk_", f"{_X}{{32}}_{_X}{{10}}", "docs.smith.langchain.com: API keys"),
    _token("pinecone-key", "pcsk_", f"{_W}{{50,}}", "docs.pinecone.io: manage API keys"),
    # Code and its packages
    _token("scrubjay-key", "sj_", "[0-9a-f]{16}_[A-Za-z0-9_-]{43}", "docs/howto/keys.md", _is_varied),
    _token("github-token", "ghp_|gho_|ghu_|ghs_|ghr_", "[A-Za-z0-9_]{30,}",
           "docs.github.com: About authentication to GitHub, token formats", _is_varied),
    _token("github-token", "github_pat_", "[A-Za-z0-9_]{22,}", "the same", _is_varied),
    _token("gitlab-token", "glpat-|gldt-|glft-|glsoat-|glrt-|glcbt-|glimt-|glptt-|glagent-|gloas-|glffct-",
           f"{_W}{{20,}}", "docs.gitlab.com/security/tokens: token prefixes", _is_varied),
    _token("atlassian-token", "ATATT3|ATCTT3|ATBB", "[A-Za-z0-9_=-]{32,}", "support.atlassian.com: API tokens"),
    _token("npm-token", "npm_", f"{_L}{{30,}}", "npm Docs: about access tokens", _is_varied),
    Rule("npm-token", ("_authToken",), _matching(r":_authToken=(?P<secret>[A-Za-z0-9_+/=-]{20,})", _is_varied),
         "npm Docs: .npmrc"),
    _token("pypi-token", "pypi-", f"Ag{_W}{{50,}}", "PyPI, help: API tokens", _is_varied),
    _token("rubygems-key", "rubygems_", f"{_X}{{48}}", "guides.rubygems.org/api-key-scopes"),
    _token("clojars-token", "CLOJARS_", f"{_X}{{60}}", "github.com/clojars/clojars-web: deploy tokens"),
    _token("docker-token", "dckr_pat_|dckr_oat_", f"{_W}{{24,}}", "docs.docker.com/security/access-tokens"),
    _token("jfrog-key", "AKCp", f"{_L}{{60,}}", "jfrog.com/help: API key"),
    _token("sonar-token", "sqp_|squ_|sqa_", f"{_X}{{40}}", "docs.sonarsource.com: managing tokens"),
    _token("sentry-token", "sntrys_|sntryu_", "[A-Za-z0-9+/=_-]{40,}", "docs.sentry.io/account/auth-tokens"),
    _token("buildkite-token", "bkua_", f"{_X}{{40}}", "buildkite.com/docs/apis/managing-api-tokens"),
    _token("postman-key", "PMAK-", f"{_X}{{24}}-{_X}{{34}}", "learning.postman.com: API authentication"),
    # Clouds and infrastructure
    Rule("aws-access-key", ("A3T", "AKIA", "ASIA", "ABIA", "ACCA"), _matching(_AWS_ACCESS_KEY),
         "docs.aws.amazon.com/IAM: unique identifiers", begins_it=True),
    Rule("aws-secret-key", ("AKIA", "ASIA"), _aws_secrets, "docs.aws.amazon.com/IAM: access keys", begins_it=True),
    _named("aws-secret-key", "secret", "secret[ _-]?access[ _-]?key", "[A-Za-z0-9/+]{40}", "the same"),
    _named("aws-secret-key", "aws", "aws", "[A-Za-z0-9/+]{40}", "the same", _is_mixed),
    _token("aws-bedrock-key", "ABSK", "[A-Za-z0-9+/]{60,}={0,2}", "docs.aws.amazon.com/bedrock: API keys"),
    _token("google-key", "AIza", rf"{_W}{{35}}(?!{_W})", "cloud.google.com/docs/authentication/api-keys", _is_varied),
    _token("google-token", "ya29.|GOCSPX-|1//0", f"{_W}{{20,}}", "developers.google.com/identity/protocols/oauth2",
           _is_varied),
    Rule("azure-key", ("accountkey=", "sharedaccesskey="),
         _matching(r"(?i:AccountKey|SharedAccessKey)=(?P<secret>[A-Za-z0-9+/]{40,}={0,2})"),
         "learn.microsoft.com/azure/storage: configure connection strings"),
    Rule("azure-signature", ("sig=",), _matching(r"[?&]sig=(?P<secret>[A-Za-z0-9%+/=_-]{30,})", _is_varied),
         "learn.microsoft.com/azure/storage: shared access signatures"),
    Rule("azure-secret", ("Q~",), _matching(r"(?<![\w~.-])[\w~.-]{3}\dQ~[\w~.-]{31,34}(?![\w~-])"),
         "learn.microsoft.com/entra: client secrets"),
    _token("digitalocean-token", "dop_v1_|doo_v1_|dor_v1_", f"{_X}{{32,}}", "docs.digitalocean.com: API tokens",
           _is_varied),
    _token("alibaba-key", "LTAI", f"{_L}{{16,26}}(?!{_L})", "alibabacloud.com/help: AccessKey pairs", _is_varied),
    _token("tencent-key", "AKID", f"{_L}{{32}}(?!{_L})", "cloud.tencent.com/document: SecretId", _is_varied),
    _named("ibm-key", "ibm|bluemix|iam", "ibm|bluemix|iam", "[A-Za-z0-9_-]{44}", "cloud.ibm.com/docs/account: API keys",
           _is_varied),
    _named("ibm-key", "cos|ibm", "(?:cos|ibm)[ _-]?(?:hmac)?[ _-]?secret[ _-]?(?:access)?[ _-]?key", f"{_X}{{48}}",
           "cloud.ibm.com/docs/cloud-object-storage: HMAC credentials"),
    _named("softlayer-key", "softlayer|sl_|sl-", "(?:softlayer|sl)[ _-]?(?:api)?[ _-]?key", f"{_X}{{64}}",
           "sldn.softlayer.com: API keys"),
    _named("cloudant-key", "cloudant", "cloudant", f"(?:{_X}{{64}}|[a-z]{{24}})", "cloud.ibm.com/docs/Cloudant: IAM"),
    _token("vault-token", "hvs.|hvb.|hvr.", f"{_W}{{24,}}", "developer.hashicorp.com/vault/docs/concepts/tokens"),
    Rule("terraform-token", (".atlasv1.",), _matching(rf"(?<![A-Za-z0-9]){_L}{{14}}\.atlasv1\.{_W}{{60,}}"),
         "developer.hashicorp.com/terraform/cloud-docs: API tokens"),
    _token("pulumi-token", "pul-", f"{_X}{{40}}", "pulumi.com/docs: access tokens"),
    _token("doppler-token",
           "dp.pt.|dp.st.|dp.ct.|dp.sa.|dp.scim.|dp.audit.", r"(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}",
           "docs.doppler.com: token formats"),
    _token("onepassword-token", "ops_eyJ", f"{_L}{{100,}}", "developer.1password.com: service accounts"),
    _token("tailscale-key", "tskey-auth-|tskey-api-|tskey-client-|tskey-scim-|tskey-webhook-", f"{_W}{{20,}}",
           "tailscale.com/kb: key prefixes"),
    _token("heroku-key", "HRKU-", f"{_W}{{36,}}", "devcenter.heroku.com/articles/oauth: token prefix"),
    _token("fly-token", "fo1_|fm1_|fm1r_|fm2_", "[A-Za-z0-9+/=_-]{40,}", "fly.io/docs/security/tokens"),
    _token("render-key", "rnd_", f"{_L}{{28,}}", "render.com/docs/api"),
    _token("netlify-token", "nfp_", f"{_L}{{36,}}", "docs.netlify.com: personal access tokens"),
    _token("supabase-token", "sbp_|sb_secret_", f"{_W}{{30,}}", "supabase.com/docs/guides/api/api-keys"),
    _token("planetscale-token", "pscale_tkn_|pscale_pw_|pscale_oauth_", r"[\w.=-]{32,}",
           "planetscale.com/docs: service tokens"),
    _token("databricks-token", "dapi", f"{_X}{{32}}(?:-[0-9])?", "docs.databricks.com: personal access tokens"),
    _token("prefect-key", "pnu_|pnb_", f"{_L}{{36}}", "docs.prefect.io: API keys"),
    # Watching
    _token("grafana-token", "glsa_|glc_", "[A-Za-z0-9+/_=]{32,}",
           "grafana.com/docs: service accounts, access policies"),
    _token("new-relic-key", "NRAK-|NRII-|NRJS-|NRRA-", f"{_L}{{19,}}", "docs.newrelic.com: API keys"),
    _token("dynatrace-token", "dt0c01.|dt0s01.|dt0s16.", r"[A-Z0-9]{24}\.[A-Z0-9]{64}",
           "docs.dynatrace.com: token format"),
    _token("posthog-key", "phx_", f"{_L}{{40,}}", "posthog.com/docs/api: personal API keys"),
    # Payment and shops
    _token("stripe-key", "sk_live_|rk_live_|sk_test_|rk_test_", f"{_L}{{16,}}", "docs.stripe.com/keys", _is_varied),
    _token("stripe-key", "whsec_", "[A-Za-z0-9+/=]{24,}", "docs.stripe.com/webhooks", _is_varied),
    _token("shopify-token", "shpat_|shpca_|shppa_|shpss_|shpua_", "[A-Fa-f0-9]{32}", "shopify.dev: access tokens"),
    _token("square-secret", "sq0csp-|sq0atp-|sq0idp-", f"{_W}{{22,43}}", "developer.squareup.com: access tokens"),
    _token("square-secret", "EAAA", f"{_W}{{60}}(?!{_W})", "the same"),
    _token("facebook-token", "EAA", f"{_L}{{90,}}", "developers.facebook.com/docs/facebook-login: access tokens"),
    Rule("plaid-token", ("access-",), _matching(rf"(?<![\w-])access-(?:sandbox|development|production)-{_UUID}"),
         "plaid.com/docs/api/tokens", begins_it=True),
    _token("razorpay-key", "rzp_live_|rzp_test_", f"{_L}{{14}}", "razorpay.com/docs/api/authentication"),
    _token("easypost-key", "EZAK|EZTK", f"{_L}{{54}}", "docs.easypost.com: authentication"),
    _token("shippo-token", "shippo_live_|shippo_test_", f"{_X}{{40}}", "docs.goshippo.com: authentication"),
    # Messages
    _token("slack-token", "xoxa-|xoxb-|xoxe-|xoxo-|xoxp-|xoxr-|xoxs-|xoxc-|xoxd-|xoxe.xoxb-|xoxe.xoxp-|xapp-",
           "[A-Za-z0-9%-]{10,}", "docs.slack.dev/authentication/tokens", _is_varied),
    Rule("slack-webhook", ("hooks.slack.com",),
         _matching(r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9_/]{20,})"),
         "docs.slack.dev/messaging/sending-messages-using-incoming-webhooks"),
    Rule("telegram-token", (":AA",), _matching(rf"(?<![A-Za-z0-9])\d{{8,10}}:AA{_W}{{32,34}}(?!{_W})"),
         "core.telegram.org/bots/api#authorizing-your-bot"),
    Rule("discord-token", (".",),
         _matching(rf"[MNO](?<!{_W}.){_W}{{23,27}}\.{_W}{{6}}\.{_W}{{27,40}}(?!{_W})", _is_mixed),
         "discord.com/developers/docs/reference#authentication"),
    Rule("discord-webhook", ("/webhooks/",),
         _matching(rf"discord(?:app)?\.com/api/webhooks/\d{{5,25}}/(?P<secret>{_W}{{20,}})"),
         "discord.com/developers/docs/resources/webhook"),
    Rule("teams-webhook", ("webhook.office.com",),
         _matching(rf"webhook\.office\.com/webhookb2/(?P<secret>{_UUID}@{_UUID}/IncomingWebhook/[\w/-]{{20,}})"),
         "learn.microsoft.com/microsoftteams: incoming webhooks"),
    Rule("twilio-key", ("AC", "SK"), _matching(rf"(?<![A-Za-z0-9])(?:AC|SK){_X}{{32}}(?![A-Za-z0-9])"),
         "twilio.com/docs/glossary/what-is-a-sid"),
    Rule("sendgrid-key", ("SG.",), _matching(rf"(?<![A-Za-z0-9])SG\.{_W}{{16,32}}\.{_W}{{32,64}}", _is_varied),
         "docs.sendgrid.com: API keys"),
    Rule("mailchimp-key", ("-us",), _matching(rf"[0-9a-f](?<![0-9A-Za-z].){_X}{{31}}-us\d{{1,2}}(?![0-9A-Za-z])"),
         "mailchimp.com/developer: API key"),
    Rule("mailgun-key", ("key-",), _matching(rf"(?<![\w-])key-{_X}{{32}}(?![0-9A-Za-z])"),
         "documentation.mailgun.com: API keys", begins_it=True),
    _token("brevo-key", "xkeysib-|xsmtpsib-", rf"{_X}{{64}}-{_L}{{16}}", "developers.brevo.com: API keys"),
    _token("resend-key", "re_", f"{_L}{{8}}_{_L}{{20,}}", "resend.com/docs: API keys"),
    _token("hubspot-token", "pat-na1-|pat-eu1-", _UUID, "developers.hubspot.com: private apps", _is_varied),
    # Work
    _token("notion-token", "ntn_", f"{_L}{{40,}}", "developers.notion.com: authorization"),
    _token("notion-token", "secret_", f"{_L}{{43}}(?!{_L})", "the same, before 2024"),
    _token("linear-key", "lin_api_|lin_oauth_", f"{_L}{{32,}}", "linear.app/developers"),
    _token("figma-token", "figd_|figu_", f"{_W}{{32,}}", "developers.figma.com: access tokens"),
    Rule("airtable-token", ("pat",), _matching(rf"(?<![A-Za-z0-9])pat{_L}{{14}}\.{_X}{{64}}"),
         "airtable.com/developers: personal access tokens", begins_it=True),
    _token("contentful-token", "CFPAT-", f"{_W}{{43}}", "contentful.com/developers: content management tokens"),
    _token("typeform-token", "tfp_", r"[A-Za-z0-9_.-]{40,}", "typeform.com/developers: personal access tokens"),
    _token("dropbox-token", "sl.", f"{_W}{{120,}}", "developers.dropbox.com/oauth-guide"),
    _token("mapbox-token", "sk.eyJ", rf"{_W}{{50,}}\.{_W}{{20,}}", "docs.mapbox.com/help/glossary/access-token"),
    # Whoever issues them
    Rule("jwt", ("eyJ",),
         _matching(rf"(?<!{_W})eyJ{_W}{{8,}}={{0,2}}\.eyJ{_W}{{8,}}={{0,2}}(?:\.{_W}*={{0,2}})?"), "RFC 7519"),
    Rule("totp-secret", ("otpauth",),
         _matching(r"(?i:otpauth://)[^\s\"'<>]{1,200}?[?&](?i:secret)=(?P<secret>[A-Za-z2-7]{8,})"),
         "github.com/google/google-authenticator/wiki/Key-Uri-Format"),
    Rule("url-password", ("://",), _url_passwords, "RFC 3986, section 3.2.1", is_token=False),
    Rule("bearer-token", ("bearer",),
         _matching(r"\b(?i:bearer)\s{1,3}(?P<secret>[A-Za-z0-9._~+/=-]{16,})", _is_varied_and_random),
         "RFC 6750"),
    Rule("basic-authorization", ("basic ",),
         _matching(r"\b(?i:basic)\s{1,3}(?P<secret>[A-Za-z0-9+/]{6,}={0,2})", _names_a_user),
         "RFC 7617", is_token=False),
    Rule("cookie", ("cookie",), cookies, "RFC 6265", is_token=False),
    Rule("credential", ("signature=",),
         _matching(r"(?i:[ ,&](?:x-amz-)?signature=)(?P<secret>[0-9a-f]{64})"),
         "docs.aws.amazon.com: Signature Version 4"),
)
# fmt: on

PASSWORD_RULES: Final[tuple[Rule, ...]] = (
    Rule(
        "password",
        ("pass",),
        _matching(
            r"\b(?:machine\s{1,8}\S{1,128}|default)\s{1,8}login\s{1,8}\S{1,128}\s{1,8}(?:account\s{1,8}\S{1,64}\s{1,8})?"
            r"password\s{1,8}(?P<secret>\S{3,128})",
            lambda value: not is_spoken_of(value),
        ),
        "gnu.org, inetutils: the .netrc file",
        is_token=False,
    ),
    Rule(
        "password",
        (":5432:", ":5433:", ":6432:", ":*:"),
        _matching(
            r"(?<!\S)[\w.*-]{1,128}:(?:5432|5433|6432|\*):[\w*-]{1,64}:[\w.*-]{1,64}:(?P<secret>[^\s:]{4,128})(?!\S)",
            lambda value: not is_spoken_of(value),
        ),
        "postgresql.org/docs: the password file",
        is_token=False,
    ),
    Rule(
        "password", (" -", '"-', "'-", WORD_END), passwords_of_options, "the manuals of these commands", is_token=False
    ),
    Rule("password", ("pass", "identified by"), passwords_of_statements, "SQL, XML and long options", is_token=False),
    *(
        Rule("password", name.begins, passwords_named(name), "a name beside its value", is_token=False)
        for name in PASSWORDS
    ),
    Rule(
        "password",
        tuple({begin for name in PASSWORDS for begin in name.begins}),
        passwords_in_columns,
        "a table with a column of passwords",
        is_token=False,
    ),
    *(
        Rule("credential", name.begins, secrets_named(name), "a name beside its value", is_token=False)
        for name in SECRETS
    ),
)

RULES: Final = TOKENS + PASSWORD_RULES
