"""Secrets never reach the disk, whichever road they come by: the raw bytes of every file are read to see."""

import json

import psycopg
import pytest

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
PASSWORD = "hunter2-" + "C0rrect-h0rse!"
SECRETS = (TOKEN, PASSWORD)


@pytest.fixture(params=["sqlite", "postgresql"])
def kept_setup(request, new_setup):
    return new_setup(request.param)


def leaked(setup, folder):
    """Where a secret is found in what was stored."""
    if setup.name == "sqlite":
        files = [path for path in folder.rglob("*") if path.is_file()]
        assert files
        return [path.name for path in files for secret in SECRETS if secret.encode() in path.read_bytes()]
    with psycopg.connect(setup.url) as connection:
        rows = [str(connection.execute(f"SELECT * FROM {table}").fetchall()) for table in ("memories", "texts")]
    return [secret for secret in SECRETS for row in rows if secret in row]


async def test_no_road_in_lets_a_secret_through(kept_setup, tmp_path):
    setup = kept_setup
    jay = await setup.open()
    said = f"The token is {TOKEN}, keep it"
    told = await jay.remember(
        said, data={"password": PASSWORD, "log": [said]}, source=f"url?token={TOKEN}", author=TOKEN, reason=said
    )
    assert "[redacted:" in told.memory.content
    assert told.memory.content.endswith(", keep it")
    assert told.memory.redacted
    await jay.remember_many([said + "!", {"content": "fine", "data": {"password": PASSWORD}}], session="s")
    fine = await jay.remember("nothing to hide")
    assert fine.memory.redacted == ()
    changed = await jay.update(fine.id, content=f"password={PASSWORD} was given", reason=said)
    assert changed.memory.redacted
    lines = [line async for line in jay.export()]
    line = {**json.loads(lines[-1]), "id": "3f2504e0-4f89-41d3-9a0c-0305e82c3301", "content": said, "key": TOKEN}
    line |= {"data": {"password": PASSWORD}, "redacted": [], "reason": said, "session": "imported"}
    assert await jay.import_lines([lines[0], json.dumps(line)]) == (1, 0)
    imported = await jay.get(line["id"])
    assert imported.redacted
    assert TOKEN not in repr(imported)
    await jay.recall(said)
    assert leaked(setup, tmp_path) == []
    await jay.close()
    assert leaked(setup, tmp_path) == []


async def test_the_same_thing_with_a_secret_told_twice_is_one_memory(kept_setup):
    jay = await kept_setup.open()
    first = await jay.remember(f"The token is {TOKEN}")
    again = await jay.remember(f"The token is {TOKEN}")
    assert (again.outcome, again.id) == ("unchanged", first.id)


async def test_redaction_can_be_switched_off(kept_setup, tmp_path):
    jay = await kept_setup.open(redactor=False)
    told = await jay.remember(f"The token is {TOKEN}")
    assert TOKEN in told.memory.content
    assert leaked(kept_setup, tmp_path) != []
