"""Tokens that their service gives a prefix of its own, one row each: what they look like, and who documents it."""

import re
from typing import Final, NamedTuple


class PrefixedToken(NamedTuple):
    """The shape of one service's tokens."""

    kind: str
    prefix: str
    """As it stands in the text, to the letter. Several are divided by `|`."""
    body: str
    """A regular expression for what follows the prefix."""
    source: str
    """What the service calls it in its documentation."""

    @property
    def prefixes(self) -> tuple[str, ...]:
        """Each prefix by itself."""
        return tuple(self.prefix.split("|"))

    @property
    def pattern(self) -> str:
        """A regular expression for the whole token."""
        return rf"(?<![A-Za-z0-9])(?:{'|'.join(map(re.escape, self.prefixes))})(?:{self.body})"


_LETTERS: Final = "[A-Za-z0-9]"
_WORD: Final = "[A-Za-z0-9_-]"
_HEX: Final = "[A-Fa-f0-9]"

PREFIXED_TOKENS: Final = (
    PrefixedToken(
        "docker-token", "dckr_pat_|dckr_oat_", f"{_WORD}{{24,}}", "Docker: personal and organization access tokens"
    ),
    PrefixedToken(
        "vault-token", "hvs.|hvb.|hvr.", f"{_WORD}{{24,}}", "HashiCorp Vault: service, batch and recovery tokens"
    ),
    PrefixedToken(
        "shopify-token", "shpat_|shpca_|shppa_|shpss_|shpua_", f"{_HEX}{{32}}", "Shopify: access tokens of apps"
    ),
    PrefixedToken("linear-key", "lin_api_|lin_oauth_", f"{_LETTERS}{{32,}}", "Linear: personal API keys"),
    PrefixedToken("notion-token", "ntn_", f"{_LETTERS}{{40,}}", "Notion: internal integration secrets"),
    PrefixedToken("notion-token", "secret_", f"{_LETTERS}{{43}}(?!{_LETTERS})", "Notion: the same, before ntn_"),
    PrefixedToken("postman-key", "PMAK-", f"{_HEX}{{24}}-{_HEX}{{34}}", "Postman: API keys"),
    PrefixedToken(
        "grafana-token", "glsa_|glc_", "[A-Za-z0-9+/_=]{32,}", "Grafana: service account and cloud access tokens"
    ),
    PrefixedToken("databricks-token", "dapi", f"{_HEX}{{32}}(?:-[0-9])?", "Databricks: personal access tokens"),
    PrefixedToken(
        "new-relic-key", "NRAK-|NRII-|NRJS-", f"{_LETTERS}{{19,}}", "New Relic: user, insert and browser keys"
    ),
    PrefixedToken("figma-token", "figd_|figu_", f"{_WORD}{{32,}}", "Figma: personal access tokens"),
    PrefixedToken("groq-key", "gsk_", f"{_LETTERS}{{40,}}", "Groq: API keys"),
    PrefixedToken("perplexity-key", "pplx-", f"{_LETTERS}{{40,}}", "Perplexity: API keys"),
    PrefixedToken("replicate-token", "r8_", f"{_LETTERS}{{36,}}", "Replicate: API tokens"),
    PrefixedToken("tavily-key", "tvly-", "(?:dev-|prod-)?[A-Za-z0-9_-]{20,}", "Tavily: API keys"),
    PrefixedToken("supabase-token", "sbp_|sb_secret_", f"{_WORD}{{30,}}", "Supabase: access tokens and secret keys"),
    PrefixedToken("fly-token", "fo1_|fm1_|fm2_", "[A-Za-z0-9+/=_-]{40,}", "Fly.io: access tokens"),
    PrefixedToken("render-key", "rnd_", f"{_LETTERS}{{28,}}", "Render: API keys"),
    PrefixedToken("xai-key", "xai-", f"{_LETTERS}{{60,}}", "xAI: API keys"),
    PrefixedToken(
        "sentry-token", "sntrys_|sntryu_", "[A-Za-z0-9+/=_-]{40,}", "Sentry: organization and user auth tokens"
    ),
    PrefixedToken("pulumi-token", "pul-", f"{_HEX}{{40}}", "Pulumi: access tokens"),
    PrefixedToken(
        "planetscale-token", "pscale_tkn_|pscale_pw_|pscale_oauth_", "[\\w.=-]{32,}", "PlanetScale: tokens, passwords"
    ),
    PrefixedToken("netlify-token", "nfp_", f"{_LETTERS}{{36,}}", "Netlify: personal access tokens"),
    PrefixedToken("buildkite-token", "bkua_", f"{_HEX}{{40}}", "Buildkite: API access tokens"),
    PrefixedToken("atlassian-token", "ATATT3", "[A-Za-z0-9_=-]{60,}", "Atlassian: API tokens"),
)  # fmt: skip
