"""A secret in the arguments of a tool call is stored nowhere, however deep it hides: in JSON, in files, in commands."""

import json

import pytest

from scrubjay.settings import read_settings
from scrubjay.testing import ToyEmbedder
from scrubjay.wiring import wire

PASSWORD = "Kx7-Qm92vTz4Lp81"
KEY = "MIIEowIBAAKCAQEA7" + "aB3x" * 20
PEM = f"-----BEGIN RSA PRIVATE KEY-----\n{KEY}\n{'Zq9w' * 16}\n-----END RSA PRIVATE KEY-----\n"


def called(arguments):
    """A call as OpenAI's models write it: the arguments are JSON in a string."""
    return {"id": "c-1", "type": "function", "function": {"name": "run", "arguments": json.dumps(arguments)}}


CALLS = {
    "a named argument": {"name": "connect", "arguments": {"password": PASSWORD}},
    "arguments in a string": called({"password": PASSWORD}),
    "a JSON file": called({"path": "db.json", "content": json.dumps({"db": {"password": PASSWORD}})}),
    "an indented JSON file": called({"content": json.dumps({"api_key": PASSWORD}, indent=2)}),
    "JSON three deep": called({"batch": json.dumps({"content": json.dumps({"password": PASSWORD})})}),
    "an environment file": called({"content": f"DEBUG=1\nDB_PASSWORD={PASSWORD}\n"}),
    "an environment as a list": called({"env": [{"name": "DB_PASSWORD", "value": PASSWORD}]}),
    "YAML": called({"content": f"db:\n  password: {PASSWORD}\n"}),
    "TOML": called({"content": f'[db]\npassword = "{PASSWORD}"\n'}),
    "an INI file": called({"content": f"[db]\npassword='{PASSWORD}'\n"}),
    "Python": called({"content": f'client = Client(password="{PASSWORD}")\n'}),
    "a command with a user": called({"command": f"curl -u admin:{PASSWORD} https://shop.example"}),
    "a command with a header": called({"command": f"curl -H 'Authorization: Bearer {PASSWORD}' https://shop.example"}),
    "an exported variable": called({"command": f"export API_KEY={PASSWORD}"}),
    "the words of a command": {"name": "run", "arguments": {"words": ["mysql", "-u", "root", f"-p{PASSWORD}"]}},
    "the words of a command in a string": called({"words": ["deploy", "--password", PASSWORD]}),
    "a server and its arguments": called({"command": "docker", "args": ["login", "-p", PASSWORD]}),
    "a header with a cookie": called({"headers": {"Cookie": f"lang=en; session={PASSWORD}"}}),
    "a table": called({"content": f"| user | password |\n|---|---|\n| app | {PASSWORD} |\n"}),
    "another language": called({"Passwort": PASSWORD, "content": f"mein Passwort ist {PASSWORD}"}),
    "a URL": called({"command": f"psql postgresql://app:{PASSWORD}@db/shop"}),
    "a key file": called({"path": "server.pem", "content": PEM}),
    "an account file": called({"content": json.dumps({"type": "service_account", "private_key": PEM})}),
}


@pytest.fixture
def settings(tmp_path):
    return read_settings(home=tmp_path, background=False)


@pytest.mark.parametrize("shape", CALLS)
async def test_it_reaches_no_memory_no_session_and_no_file(settings, tmp_path, shape):
    call, said = CALLS[shape], f"I will call it with {json.dumps(CALLS[shape])}"
    async with wire(settings, embedder=ToyEmbedder()) as jay:
        await jay.episodes.store_episode(role="assistant", tool_calls=[call], session="told")
        asked = {"role": "user", "content": "Please write the file that the shop needs"}
        await jay.working.append([asked, {"role": "assistant", "content": "", "tool_calls": [call]}], session="live")
        await jay.remember(said)
        await jay.working.end(session="live")
        await jay.consolidate()
        written = [line async for line in jay.export()]
        contents = [one.content for one in await jay.list(history=True, limit=100)]
    assert any('"run"' in content or '"connect"' in content for content in contents), "what was called is kept"
    assert any("[redacted:" in content for content in contents)
    files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    for secret in (PASSWORD, KEY):
        assert secret not in "".join(written)
        assert not any(secret.encode() in content for content in files)


async def test_a_call_without_a_secret_stays_as_it_is(settings):
    call = called({"path": "notes.json", "content": '{"colour":  "blue", "key": "value", "n": [1, 2.50]}'})
    async with wire(settings, embedder=ToyEmbedder()) as jay:
        stored = await jay.episodes.store_episode(role="assistant", tool_calls=[call], session="told")
        [episode] = await jay.episodes.timeline(session="told")
        assert episode.memory.data["tool_calls"] == [call]
        assert episode.memory.redacted == ()
        assert json.dumps(call, separators=(",", ":")) in episode.content
        assert stored.outcome == "stored"
