"""From a setting to an embedder, and from an identity back to the setting."""

import pytest

from scrubjay.errors import Misconfigured
from scrubjay.model import Identity
from scrubjay.models import embedder_of, spec_of


@pytest.mark.parametrize(
    "spec", ["minilm", "static", "openai:text-embedding-3-small", "ollama:nomic-embed-text:v1.5", "ollama:org/name:tag"]
)
def test_a_spec_survives_the_round_trip(spec):
    embedder = embedder_of(spec, url="", key="", threads=1)
    assert embedder is not None
    assert spec_of(embedder.identity) == spec


def test_sentence_transformers_is_a_spec_too():
    identity = Identity(provider="sentence-transformers", model="org/name", version="1", dimensions=3)
    assert spec_of(identity) == "sentence-transformers:org/name"
    with pytest.raises(Misconfigured, match="sentence-transformers:org/name needs that package"):
        embedder_of("sentence-transformers:org/name")


def test_none_is_no_embedder():
    assert embedder_of("none") is None
    assert embedder_of(" none ") is None


@pytest.mark.parametrize(
    "spec", ["", "openai", "openai:", "ollama:", "sentence-transformers", "minilm:x", "none:x", "bert", "OPENAI:x"]
)
def test_an_unknown_spec_names_the_value_and_the_choices(spec):
    with pytest.raises(Misconfigured, match=rf"SCRUBJAY_EMBEDDER is '{spec}': use minilm, static, none, openai:MODEL"):
        embedder_of(spec)


def test_an_unknown_provider_is_an_error():
    with pytest.raises(Misconfigured, match="future:m@1/3 is not known to this version"):
        spec_of(Identity(provider="future", model="m", version="1", dimensions=3))


def test_url_and_key_reach_the_server_embedders():
    with pytest.raises(Misconfigured, match="SCRUBJAY_EMBEDDER_URL is 'nowhere'"):
        embedder_of("openai:m", url="nowhere")
