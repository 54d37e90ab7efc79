"""JSON in a text is read as what it holds, and all of it but the secrets stays to the letter."""

import json

import pytest

from scrubjay.model import Scope
from scrubjay.testing import NOW
from scrubjay.write.prepare import prepare
from scrubjay.write.redact import SecretRedactor, clean_text, reason_of

TOKEN = "gh" + "p_" + "aB3dE5gH7jK9mN1pQ3sT5vW7xY9zA1cE3gI5k"
HERE = Scope(tenant="t")
redactor = SecretRedactor()


def cleaned(text):
    return clean_text(redactor, text)[0]


@pytest.mark.parametrize(
    "around",
    [
        '{"note": "keep me", "note": "second", "t": "%s"}',
        '{"n": 1e400, "m": 1.10, "k": 12345678901234567890.5, "big": 123456789012345678901234567890, "t": "%s"}',
        '{\n    "t": "%s",\n    "list": [1,2,   3]\n}\n',
        '  [ "%s" , null, true , NaN ]',
        '{"half": "\\ud83d", "t": "%s", "slash": "\\/"}',
    ],
)
def test_all_but_the_secret_stays_to_the_letter(around):
    assert cleaned(around % TOKEN) == around % "[redacted:github-token]"


def test_a_secret_beside_half_of_a_character_goes_and_the_half_stays():
    assert (
        cleaned('{"t": "\\ud83d TOKEN \\u00e9"}'.replace("TOKEN", TOKEN))
        == '{"t": "\\ud83d [redacted:github-token] \\u00e9"}'
    )


def test_it_goes_to_any_depth_and_twice_is_once():
    text = TOKEN
    for level in range(8):
        text = json.dumps({"level": level, "inner": [text]})
    clean = cleaned(text)
    assert TOKEN not in clean
    assert cleaned(clean) == clean
    for level in reversed(range(8)):
        assert json.loads(clean)["level"] == level
        [clean] = json.loads(clean)["inner"]
    assert clean == "[redacted:github-token]"


@pytest.mark.parametrize(("levels", "lists"), [(8, 98), (3, 900), (1, 100_000)])
def test_lists_inside_lists_are_no_way_out(levels, lists):
    text = json.dumps({"t": TOKEN})
    for _ in range(levels):
        text = "[" * lists + json.dumps(text) + "]" * lists
    assert TOKEN not in cleaned(text)


@pytest.mark.parametrize(
    "harmless",
    [
        '{"password": "Passwort"}',
        '{"de": {"login.password": "Kennwort"}}',
        '{"credentials": "same-origin"}',
        '{"secret": "kubernetes.io/tls"}',
        '{"secret": "my-tls-secret-name"}',
        '{"password": "Choose a new one"}',
        '{"properties": {"password": {"type": "string"}}}',
    ],
)
def test_forms_translations_and_code_stay(harmless):
    assert clean_text(redactor, harmless) == (harmless, ())


def test_it_is_so_wherever_a_text_is_written():
    told = '{"env": [{"name": "DB_PASSWORD", "value": "s3cr3tvalue"}]}'
    clean = told.replace("s3cr3tvalue", "[redacted:credential]")
    for given in ({"content": told}, {"content": told, "key": "env"}):
        assert prepare(given, HERE, now=NOW, redactor=redactor).content == clean
    assert reason_of(told, redactor) == clean


def message(content, data, **more):
    return prepare({"content": content, "kind": "message", "data": data, **more}, HERE, now=NOW, redactor=redactor)


def test_the_words_of_a_message_are_made_again_only_if_they_are_its_calls():
    call = {"name": "run", "args": {"password": "hunter2secret9"}}
    assert "calls" not in message("We deploy on Friday.", {"tool_calls": [call]}).content
    assert message(f"Meet Bob {TOKEN}", {"tool_calls": []}).content == "Meet Bob [redacted:github-token]"
    made = 'Deploying.\ncalls {"name":"run","args":{"password":"hunter2secret9"}}'
    clean = message(made, {"content": "Deploying.", "tool_calls": [call]})
    assert clean.content == 'Deploying.\ncalls {"name":"run","args":{"password":"[redacted:credential]"}}'
    assert message("x", {"tool_calls": [call], "content": ["no text"]}).content == "x"
