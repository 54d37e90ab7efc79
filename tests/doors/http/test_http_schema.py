"""Whatever a request holds, the service answers as its OpenAPI document says, and never with an error of its own.

The requests are made from the document: right ones, and wrong ones of every sort. The seed is fixed, so that a run that
failed fails again.
"""

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import content_type_conformance, not_a_server_error, response_schema_conformance

from scrubjay import wiring

CHECKS = (not_a_server_error, content_type_conformance, response_schema_conformance)

ON_THE_SERVER = {"path", "directory", "to", "repo_path"}
"""Names of folders on the server: made-up ones are put below a folder of the test."""

NOT_ASKED = {"/v1/events"}
"""A stream of events never ends: test_http_streams.py listens to it."""


@schemathesis.serializer("application/x-ndjson")
def as_it_is(_context, value):
    """Lines are sent as the text that was made up."""
    return str(value).encode("utf-8", "surrogatepass")


@pytest.fixture(scope="module")
def served(start, tmp_path_factory):
    """A server whose rate limits nobody meets, and a key that may do everything."""
    home = tmp_path_factory.mktemp("fuzzed")
    with wiring.open(home, embedder="none", background=False) as jay:
        key = jay.access.create_key("fuzzer", rights=("read", "write", "admin"))
    limits = dict.fromkeys(("SCRUBJAY_LIMIT_READ", "SCRUBJAY_LIMIT_WRITE", "SCRUBJAY_LIMIT_HEAVY"), "0")
    with start(home, SCRUBJAY_EMBEDDER="none", **limits) as server:
        server.bearer = {"Authorization": f"Bearer {key.text}"}
        server.folder = home / "folder"
        server.folder.mkdir()
        yield server


def ask(operation, mode, served) -> list[str]:
    """Send a few requests of this sort; return what was wrong with an answer."""

    @settings(
        max_examples=1,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def check(case):
        if isinstance(case.body, dict):
            for name in ON_THE_SERVER & case.body.keys():
                case.body[name] = str(served.folder)
        answer = case.call(base_url=served.url, headers=served.bearer)
        assert answer.status_code != 401, "the key opens everything"
        case.validate_response(answer, checks=CHECKS)

    try:
        check()
    except Unsatisfiable:
        # What takes nothing cannot be asked in a wrong way.
        assert mode is GenerationMode.NEGATIVE
    except (AssertionError, BaseExceptionGroup) as error:
        return [f"{operation.label} ({mode.value}): {error!r} {getattr(error, 'exceptions', '')}"]
    return []


@pytest.mark.slow
def test_every_request_gets_a_described_answer(served):
    document = schemathesis.openapi.from_url(f"{served.url}/openapi.json")
    operations = [found.ok() for found in document.get_all_operations()]
    asked = [operation for operation in operations if operation.path not in NOT_ASKED]
    assert len(asked) == len(operations) - len(NOT_ASKED)
    wrong = [fault for operation in asked for mode in GenerationMode for fault in ask(operation, mode, served)]
    assert wrong == []
