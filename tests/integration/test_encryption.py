"""Encryption at rest on real stores: what is told comes back, and nothing of it lies about in plain."""

import asyncio
import gzip
import json
import sqlite3
from contextlib import closing
from datetime import timedelta

import psycopg
import pytest
from psycopg import sql

from scrubjay.backends.encryption import rotation, vault
from scrubjay.backends.encryption.masters import new_master
from scrubjay.backends.encryption.rotation import PAGE
from scrubjay.errors import Conflict, InvalidInput, KeyMissing, Misconfigured, StoreDamaged
from scrubjay.model import AsOf, Scope, new_id
from scrubjay.model.work import Policy
from scrubjay.ports import Blob
from scrubjay.settings import read_settings
from scrubjay.testing import NOW, ToyEmbedder
from scrubjay.wiring import back_up, move_stores, restore_from, wire

KEY, ANOTHER = new_master(), new_master()
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
SECRETS = [f"geranium{place}" for place in range(15)]


def memory(home, **given):
    given = {"encrypt": "all", "encryption_key": KEY, "background": False, **given}
    return wire(read_settings(home=home, **given), embedder=ToyEmbedder())


def plain(home, **given):
    return memory(home, **{"encrypt": "none", "encryption_key": "", **given})


def stored_in_files(folder):
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def stored_in_postgres(url):
    with psycopg.connect(url) as connection:
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        whole = [sql.SQL("SELECT t::text FROM {} t").format(sql.Identifier(table)) for (table,) in tables]
        return "".join(str(connection.execute(query).fetchall()) for query in whole).encode()


def leaked(stored):
    folded = stored.lower()
    return [secret for secret in SECRETS if secret.encode() in folded or secret.encode().hex().encode() in folded]


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request, tmp_path):
    """Settings, and how to read all that was stored with them."""
    if request.param == "sqlite":
        return {}, lambda: stored_in_files(tmp_path)
    url = request.getfixturevalue("postgres_database")()
    return {"records": url}, lambda: stored_in_postgres(url) + stored_in_files(tmp_path)


def says(told):
    return told.content, told.data, told.source, told.author, told.reason


async def tell_everything(jay):
    """Say a secret in every way, and return what must come back."""
    words = iter(SECRETS)
    told = await jay.remember(
        f"Under the {next(words)}",
        data={"deep": [{next(words): next(words)}]},
        source=f"file {next(words)}",
        author=f"Anna {next(words)}",
        reason=f"since {next(words)}",
        user="anna",
    )
    gone = await jay.remember(f"No {next(words)}", user="anna")
    await jay.forget(gone.memory.id, reason=f"of the {next(words)}")
    await jay.facts.store(f"Prefers {next(words)}", key="pref:flower", type="preference", user="anna")
    await jay.facts.store(f"Prefers roses over {next(words)}", key="pref:flower", type="preference", user="anna")
    await jay.tasks.store_execution("T-1", f"Planted {next(words)}", True, project="garden")
    await jay.working.append([{"role": "user", "content": f"Say {next(words)}"}], session="s")
    await jay.working.set("plan", {"next": next(words)}, session="s")
    scope, owner = Scope(agent="gardener"), new_id()
    blob = Blob(f"{next(words)}\n".encode() * 50)
    await jay.parts.stores.blobs.keep(scope, owner, [blob])
    return told.memory, blob


async def test_nothing_that_is_told_lies_about_in_plain(place, tmp_path):
    options, stored = place
    async with memory(tmp_path, **options) as jay:
        told, blob = await tell_everything(jay)
        assert leaked(stored()) == []  # While it is open, with the write-ahead log beside the file.
        assert says(await jay.get(told.id, user="anna")) == says(told)
        first, *_ = await jay.history(key="pref:flower", user="anna")
        assert first.content == f"Prefers {SECRETS[8]}"
        [message] = await jay.working.recent(session="s")
        assert message.content == f"Say {SECRETS[11]}"
        assert (await jay.working.get("plan", session="s")).value == {"next": SECRETS[12]}
        assert await jay.parts.stores.blobs.get(Scope(), [blob.hash]) == {blob.hash: blob.content}
        await jay.working.end(session="s")
        await jay.consolidate(steps=["drain", "distill"])
        assert [one.content for one in await jay.list(kinds=["message"])] == [f"Say {SECRETS[11]}"]
        [looked] = await jay.parts.inspected["encryption"].inspect()
        assert (looked.said.startswith("2 data keys open"), looked.remedy) == (True, "")
        assert await jay.check() == []
    assert leaked(stored()) == []
    async with memory(tmp_path, **options) as jay:
        assert says(await jay.get(told.id, user="anna")) == says(told)
        await jay.forget(everything=True, purge=True)
        assert await jay.count(history=True) == 0


async def test_what_is_told_would_be_found_in_plain(tmp_path):
    async with plain(tmp_path) as jay:
        await tell_everything(jay)
    assert len(leaked(stored_in_files(tmp_path))) > 10


async def test_what_replaces_something_encrypted_is_encrypted(tmp_path):
    async with memory(tmp_path, encrypt="none") as jay:
        first = await jay.remember("The spare key is under geranium1", key="spare", encrypt=True)
        assert (await jay.remember("The spare key is under geranium1", key="spare")).memory.id == first.memory.id
        after = [
            await jay.remember("The spare key is under geranium2", key="spare"),
            await jay.remember("The spare key is under geranium3", key="spare"),
        ]
        assert [(one.outcome, one.memory.encrypted) for one in after] == [("superseded", True)] * 2
        assert (await jay.get(after[-1].memory.id)).content == "The spare key is under geranium3"
        assert (await jay.remember("Water geranium4", key="plants")).memory.encrypted is False
    assert leaked(stored_in_files(tmp_path)) == ["geranium4"]


async def test_one_fact_alone_is_encrypted(tmp_path):
    async with memory(tmp_path, encrypt="none") as jay:
        for told in ({"key": "spare"}, {}):
            stored = await jay.facts.store("The spare key is under geranium1", encrypt=True, **told)
            assert stored.fact.memory.encrypted
        kept = await jay.facts.store_user_preference("anna", "plants", "Prefers geranium2", encrypt=True)
        assert (await jay.facts.get_by_id(kept.id, user="anna")).content == "Prefers geranium2"
    assert leaked(stored_in_files(tmp_path)) == []


async def test_the_rules_of_memory_hold(tmp_path):
    async with memory(tmp_path) as jay:
        first = await jay.remember("The port is 80", key="port", data={"n": 80, "of": {"a": "shop"}}, user="anna")
        again = await jay.remember("The port is 80", key="port", data={"n": 80, "of": {"a": "shop"}}, user="anna")
        assert (again.outcome, again.memory.id) == ("unchanged", first.memory.id)
        noted = await jay.remember("Said twice", user="anna")
        assert (await jay.remember("Said twice", user="anna")).memory.id == noted.memory.id
        before = first.memory.created_at
        second = await jay.remember("The port is 81", key="port", data={"n": 81}, user="anna")
        assert second.replaced == first.memory.id
        assert [one.content for one in await jay.list(key="port", user="anna")] == ["The port is 81"]
        assert [one.content for one in await jay.list(key="port", as_of=AsOf(known_at=before))] == ["The port is 80"]
        history = [one.content for one in await jay.history(key="port", user="anna")]
        assert (history[:2], len(history)) == (["The port is 80", "The port is 81"], 3)  # 80 held until 81 did.
        corrected = await jay.update(second.memory.id, content="The port is 8081", user="anna")
        assert corrected.memory.encrypted
        assert [one.content for one in await jay.list(data={"n": {"gte": 81}})] == ["The port is 8081"]
        assert await jay.count(data={"of.a": "shop"}, history=True) == 2
        assert await jay.count(data={"of.a": "inn"}, history=True) == 0
        [hit] = await jay.recall("port", data={"n": 81})
        assert hit.memory.content == "The port is 8081"
        assert (await jay.update(noted.memory.id, importance=0.9)).memory.content == "Said twice"


async def test_filters_on_data_find_all_and_page_by_page(tmp_path):
    async with memory(tmp_path, encrypted_search="words") as jay:
        await jay.remember_many(
            [{"content": f"number {n} of many", "data": {"even": n % 2 == 0, "n": n}} for n in range(700)]
        )
        assert await jay.count(data={"even": True}) == 350
        assert len(await jay.list(data={"n": {"lt": 600}, "even": True}, limit=1_000)) == 300
        first = await jay.list(data={"even": True}, limit=100, order="oldest")
        second = await jay.list(data={"even": True}, limit=100, order="oldest", after=first[-1].id)
        assert [one.data["n"] for one in second] == list(range(200, 400, 2))
        hits = await jay.recall("many", mode="words", data={"n": {"gte": 695}}, limit=20)
        assert sorted(hit.memory.data["n"] for hit in hits) == list(range(695, 700))


# What is encrypted, and how it is found


async def test_agents_alone_and_what_is_made_from_them(tmp_path):
    async with memory(tmp_path, encrypt="agents") as jay:
        note = await jay.remember("A plain geranium0")
        result = await jay.remember("The result is geranium1", kind="result", session="s")
        derived = await jay.remember("So geranium2", derived_from=[result.memory.id])
        onwards = await jay.remember("And geranium3", derived_from=[derived.memory.id, note.memory.id])
        asked = await jay.remember("Please hide geranium4", encrypt=True)
        versions = await jay.update(asked.memory.id, content="Still hides geranium5")
        found = [one.memory.encrypted for one in (note, result, derived, onwards, asked, versions)]
        assert found == [False, True, True, True, True, True]
        await jay.parts.stores.blobs.keep(Scope(agent="a"), new_id(), [Blob(b"geranium6")])
        await jay.parts.stores.blobs.keep(Scope(user="u"), new_id(), [Blob(b"geranium7")])
    assert leaked(stored_in_files(tmp_path)) == ["geranium0", "geranium7"]


async def test_files_that_an_agent_kept_in_plain_are_encrypted_once_agents_are(place, tmp_path):
    options, _ = place
    files = tmp_path / "files"
    files.mkdir()
    for number in range(60):
        (files / f"{SECRETS[2]}-{number}.md").write_text(f"# {SECRETS[0]} {number}\n")
    home = tmp_path / "home"
    async with plain(home, **options) as jay:
        await jay.agents.create("gardener")
        await jay.agents.snapshot("gardener", files)
        await jay.parts.stores.blobs.keep(Scope(user="u"), (await jay.remember("Plain")).memory.id, [Blob(b"plain")])
        kept = (await jay.parts.stores.blobs.room(Scope())).blobs
    async with memory(home, encrypt="agents", **options) as jay:
        assert (await jay.encryption.rotate(rows=True)).files == kept - 1, "all but the one that no agent has"
        assert await jay.check() == []
        await jay.agents.restore("gardener", to=tmp_path / "again")
    assert {path.name: path.read_text() for path in (tmp_path / "again").iterdir()} == {
        path.name: path.read_text() for path in files.iterdir()
    }


async def test_an_agents_whole_life_is_encrypted_and_resumed(tmp_path):
    home, files = tmp_path / "home", tmp_path / "files"
    files.mkdir()
    (files / f"{SECRETS[9]}.md").write_text(f"# {SECRETS[0]}\n" * 20)
    async with memory(home, encrypt="agents") as jay:
        agents = jay.agents
        await agents.create("gardener", directives=f"Water the {SECRETS[1]}", configuration={"can": SECRETS[2]})
        await agents.begin_cycle("gardener", goal=f"Save the {SECRETS[3]}")
        await agents.propose("gardener", "water", arguments={"plant": SECRETS[4]}, thoughts={"raw": SECRETS[5]})
        await agents.result("gardener", "failed", error={"message": f"{SECRETS[6]} is dry"})
        await agents.snapshot("gardener", files)
        await agents.end_cycle("gardener", state={"left": SECRETS[7]}, summary=f"Lost the {SECRETS[8]}")
        await agents.begin_cycle("gardener")
        await agents.propose("gardener", "buy", arguments={"plant": SECRETS[10]})
        assert leaked(stored_in_files(home)) == []
    async with memory(home, encrypt="agents") as jay:
        again = await jay.agents.resume("gardener")
        assert (again.last.state, again.last.summary) == ({"left": SECRETS[7]}, f"Lost the {SECRETS[8]}")
        assert [one.arguments for one in again.waiting] == [{"plant": SECRETS[10]}]
        await jay.agents.restore("gardener", to=tmp_path / "again")
    assert (tmp_path / "again" / f"{SECRETS[9]}.md").read_text().startswith(f"# {SECRETS[0]}")
    assert leaked(stored_in_files(home)) == []


@pytest.mark.parametrize(("search", "by_words", "by_meaning"), [("none", 0, 0), ("meaning", 0, 1), ("words", 1, 1)])
async def test_search_knows_as_much_as_it_may(tmp_path, search, by_words, by_meaning):
    async with memory(tmp_path, encrypted_search=search) as jay:
        told = await jay.remember("Tulips in the cellar", key="tulips-spare")
        assert len(await jay.recall("cellar", mode="words")) == by_words
        assert len(await jay.recall("cellar", mode="meaning", least_similarity=0.1)) == by_meaning
        # Keys are names, and stay in plain.
        assert len(await jay.recall("spare", mode="words")) == 1
        assert (await jay.stats()).vectors == by_meaning
        assert (await jay.stats()).pending == 0
        await jay.reindex(words=True)
        await jay.reindex(rebuild=True)
        assert len(await jay.recall("cellar", mode="words")) == by_words
        assert (await jay.stats()).vectors == by_meaning
        assert (await jay.get(told.memory.id)).content == "Tulips in the cellar"
        assert await jay.check() == []


async def test_what_is_learnt_from_what_is_encrypted_has_a_name_that_tells_nothing(tmp_path):
    async with memory(tmp_path) as jay:
        for session, choice in (("1", SECRETS[:2]), ("2", SECRETS[1::-1])):
            said = {"role": "user", "content": f"I prefer {choice[0]} over {choice[1]}"}
            await jay.working.append([said], user="anna", session=session)
            await jay.working.end(user="anna", session=session)
            await jay.consolidate(steps=["drain", "distill"])
        [learnt] = await jay.list(kinds=["preference"], user="anna")
        assert learnt.content == f"I prefer {SECRETS[1]} over {SECRETS[0]}", "the one about the same thing is replaced"
        assert learnt.key.startswith("pref:")
        assert leaked(stored_in_files(tmp_path)) == []


class Overhearing(ToyEmbedder):
    """A model that notes what it is shown."""

    def __init__(self):
        super().__init__()
        self.shown = []

    async def embed(self, texts, *, question=False):
        self.shown += texts
        return await super().embed(texts, question=question)


async def test_what_is_to_have_no_vector_is_shown_to_no_model(tmp_path):
    embedder = Overhearing()
    options = {"encrypt": "all", "encrypted_search": "none", "encryption_key": KEY, "background": False}
    async with wire(read_settings(home=tmp_path, **options), embedder=embedder) as jay:
        await tell_everything(jay)
        await jay.facts.store_many([f"Grows {secret}" for secret in SECRETS[:3]], user="anna")
        await jay.agents.create("gardener", directives=f"Water the {SECRETS[0]}")
        await jay.consolidate()
        await jay.reindex(rebuild=True)
    assert leaked(" ".join(embedder.shown).encode()) == []


# Keys


async def test_without_its_key_nothing_opens_and_the_error_says_which(tmp_path):
    async with memory(tmp_path) as jay:
        await jay.remember("A secret")
        [master] = (await jay.encryption.status()).masters
    for key in ("", ANOTHER):
        with pytest.raises(KeyMissing, match=rf"master key {master}.*SCRUBJAY_ENCRYPTION_KEY"):
            await plain(tmp_path, encryption_key=key).start()
    # To go on without encrypting more, the key is enough.
    async with plain(tmp_path, encryption_key=f"{ANOTHER},{KEY}") as jay:
        assert [one.content for one in await jay.list()] == ["A secret"]
        assert not (await jay.remember("No secret")).memory.encrypted


async def test_a_process_without_the_key_that_is_open_already_gets_no_garbage(tmp_path):
    async with plain(tmp_path) as old, memory(tmp_path) as new:
        told = await new.remember("A secret", user="anna")
        for read in (old.get(told.memory.id, user="anna"), old.list(), old.recall("secret")):
            with pytest.raises(KeyMissing, match=r"data key 1 of tenant default.*SCRUBJAY_ENCRYPTION_KEY"):
                await read


async def test_asking_for_encryption_needs_a_key(tmp_path):
    with pytest.raises(Misconfigured, match=r"SCRUBJAY_ENCRYPT is 'all' and there is no key.*keys generate"):
        plain(tmp_path, encrypt="all")
    async with plain(tmp_path) as jay:
        with pytest.raises(InvalidInput, match=r"encrypt is true.*no key here.*leave it out, or set SCRUBJAY_ENC"):
            await jay.remember("Hide this", encrypt=True)
        assert await jay.count() == 0
        with pytest.raises(InvalidInput, match="encrypt"):
            await jay.remember("Hide this", encrypt="yes")
        with pytest.raises(InvalidInput, match="marks what is encrypted"):
            await jay.remember("scrubjay-sealed:1:00000001:00:AAAA:")


async def test_a_ciphertext_that_is_moved_or_changed_is_called_damaged(tmp_path):
    async with memory(tmp_path) as jay:
        mine = (await jay.remember("Mine", user="anna")).memory.id
        yours = (await jay.remember("Yours", user="bob")).memory.id
    with closing(sqlite3.connect(tmp_path / "scrubjay.db")) as file, file:
        rows = dict(file.execute("SELECT id, content FROM memories").fetchall())
        file.execute("UPDATE memories SET content = ? WHERE id = ?", (rows[yours.bytes], mine.bytes))
        *head, body, words = rows[yours.bytes].split(":")
        broken = ":".join([*head, body[:60] + ("A" if body[60] != "A" else "B") + body[61:], words])
        file.execute("UPDATE memories SET content = ? WHERE id = ?", (broken, yours.bytes))
    async with memory(tmp_path) as jay:
        with pytest.raises(StoreDamaged, match=f"memory {mine} .*changed, or moved here"):
            await jay.get(mine, user="anna")
        with pytest.raises(StoreDamaged):
            await jay.get(yours, user="bob")


# Rotation


async def test_master_keys_are_exchanged_while_others_go_on(place, tmp_path, monkeypatch):
    options, _ = place
    async with memory(tmp_path, **options) as old:
        await old.remember("Before", user="anna")
        await old.for_tenant("other").remember("Theirs")
        async with memory(tmp_path, encryption_key=f"{ANOTHER},{KEY}", **options) as new:
            done = await new.encryption.rotate()
            assert (done.wrapped, done.added, done.rows) == (4, 0, 0)
            assert (await new.encryption.rotate()).wrapped == 0
            status = await new.encryption.status()
            assert status.unneeded == (status.masters[1],)
        # Whoever has the old key alone goes on with what it holds, and others with the new one alone.
        monkeypatch.setattr(vault, "FRESH_SECONDS", 0.0)
        assert [one.content for one in await old.list()] == ["Before"]
        assert (await old.remember("After", user="anna")).memory.encrypted
        async with memory(tmp_path, encryption_key=ANOTHER, **options) as new:
            assert [one.content for one in await new.list()] == ["After", "Before"]
            assert [one.content for one in await new.for_tenant("other").list()] == ["Theirs"]


# A write has a second of the real clock from its sealing to the disk: on a machine that stands still, it keeps its key.
@pytest.mark.flaky(reruns=2)
async def test_data_keys_are_exchanged_while_others_write(place, tmp_path):
    options, _ = place
    async with memory(tmp_path, **options) as one, memory(tmp_path, **options) as other:
        await one.remember_many([f"Row {place}" for place in range(PAGE + 50)])
        await other.list(limit=1)

        async def write():
            for number in range(30):
                await other.remember(f"Meanwhile {number}")

        seen = []
        done, _ = await asyncio.gather(
            one.encryption.rotate(lambda *step: seen.append(step), data_keys=True, rows=True), write()
        )
        assert (done.added, done.wrapped) == (1, 0)
        assert done.rows >= PAGE + 50
        assert seen[-1][0] >= PAGE + 50
        status = await other.encryption.status()
        assert [key.rows for key in status.keys] == [0, PAGE + 80]
        assert status.plain == 0
        assert len(await other.list(limit=1_000)) == PAGE + 80
        assert (await other.remember("Row 7")).outcome == "unchanged"
        assert (await one.encryption.rotate(rows=True)).rows == 0


async def test_a_rotation_that_is_stopped_goes_on(tmp_path, monkeypatch):
    # Nobody else writes.
    monkeypatch.setattr(rotation, "FRESH_SECONDS", 0.0)
    monkeypatch.setattr(rotation, "ARRIVAL_SECONDS", 0.01)
    async with memory(tmp_path) as jay:
        await jay.remember_many([f"Row {place}" for place in range(3 * PAGE)])

        def stop(done, _total):
            if done >= PAGE:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            await jay.encryption.rotate(stop, data_keys=True, rows=True)
        assert [key.rows for key in (await jay.encryption.status()).keys] == [2 * PAGE, PAGE]
        assert len(await jay.list(limit=1_000)) == 3 * PAGE
        assert (await jay.encryption.rotate(rows=True)).rows == 2 * PAGE
        assert [key.rows for key in (await jay.encryption.status()).keys] == [0, 3 * PAGE]


async def test_encryption_is_switched_on_for_what_is_there(place, tmp_path):
    options, stored = place
    async with plain(tmp_path, **options) as jay:
        told, blob = await tell_everything(jay)
        await jay.remember("Said before and after", user="anna")
        await jay.remember("Was in Bonn", user="anna", valid_from=NOW - DAY, valid_to=NOW)
        await jay.working.end(session="s")
        await jay.consolidate(steps="drain")
    async with memory(tmp_path, encrypted_search="none", **options) as jay:
        again = await jay.remember("Said before and after", user="anna")
        ended = await jay.remember("Was in Bonn", user="anna", valid_from=NOW - DAY, valid_to=NOW)
        rows = await jay.count(history=True)
        done = await jay.encryption.rotate(rows=True)
        assert (done.rows, done.files) == (rows - 2, 1)
        assert (await jay.encryption.status()).plain == 0
        assert says(await jay.get(told.id, user="anna")) == says(told)
        assert await jay.parts.stores.blobs.get(Scope(), [blob.hash]) == {blob.hash: blob.content}
        # Told again before the first one was encrypted, it is one memory again.
        [kept] = [one for one in await jay.list(user="anna") if one.content == "Said before and after"]
        assert kept.id == again.memory.id
        stretches = await jay.list(user="anna", as_of=AsOf(valid_at=NOW - HOUR))
        assert [one.id for one in stretches if one.content == "Was in Bonn"] == [ended.memory.id]
        assert (await jay.stats()).vectors == 0
        assert await jay.check() == []
        if not options:
            assert leaked(stored()) == []
    if options:
        with psycopg.connect(options["records"], autocommit=True) as connection:
            connection.execute("VACUUM FULL")
    assert leaked(stored()) == []


# Leaving the store


async def test_a_backup_carries_ciphertext_and_keys(place, tmp_path):
    options, _ = place
    async with memory(tmp_path / "here", **options) as jay:
        told, blob = await tell_everything(jay)
        await jay.working.end(session="s")
    settings = read_settings(home=tmp_path / "here", encrypt="all", encryption_key=KEY, **options)
    file = tmp_path / "whole.backup"
    await asyncio.to_thread(back_up, settings, file)
    assert leaked(gzip.decompress(file.read_bytes())) == []
    there = read_settings(home=tmp_path / "there")
    await asyncio.to_thread(restore_from, there, file)
    with pytest.raises(KeyMissing):
        await plain(tmp_path / "there").start()
    await asyncio.to_thread(move_stores, source=there.records_url, target=f"sqlite:///{tmp_path}/moved/scrubjay.db")
    for home in ("there", "moved"):
        async with memory(tmp_path / home) as jay:
            assert says(await jay.get(told.id, user="anna")) == says(told)
            assert await jay.parts.stores.blobs.get(Scope(), [blob.hash]) == {blob.hash: blob.content}
            assert (await jay.remember(told.content, data=told.data, user="anna")).outcome == "unchanged"


async def test_an_export_is_plain_and_says_so(tmp_path):
    async with memory(tmp_path / "here") as jay:
        await jay.remember("A secret", user="anna")
        lines = [line async for line in jay.export()]
    assert json.loads(lines[1])["content"] == "A secret"
    assert json.loads(lines[1])["encrypted"] is True
    async with plain(tmp_path / "plain") as jay:
        with pytest.raises(InvalidInput, match=r"`encrypted` in a line.*set SCRUBJAY_ENCRYPTION_KEY"):
            await jay.import_lines(lines)
        assert await jay.count() == 0
    async with memory(tmp_path / "there", encrypt="none") as jay:
        assert await jay.import_lines(lines) == (1, 0)
        same = json.dumps({**json.loads(lines[1]), "id": str(new_id())})
        with pytest.raises(Conflict, match="the same is remembered twice"):
            await jay.import_lines([lines[0], same])
        assert [one.encrypted for one in await jay.list()] == [True]


async def test_why_an_import_closes_what_is_encrypted_is_encrypted_too(tmp_path):
    async with plain(tmp_path / "here") as here, memory(tmp_path / "there", encrypt="none") as there:
        told = await here.remember("A secret", user="anna")
        kept = await here.remember("Another", key="k", user="anna")
        older = [line async for line in here.export()]
        sealed = [json.dumps({**json.loads(line), "encrypted": True}) for line in older[1:]]
        await there.import_lines([older[0], *sealed])
        await here.forget(told.memory.id, reason="asked: the zebra", user="anna")
        await here.remember("Better", key="k", user="anna")
        # The file does not say that they are encrypted there.
        assert await there.import_lines([line async for line in here.export()]) == (2, 2)
        closed, replaced = await there.parts.stores.records.get(Scope(), [told.memory.id, kept.memory.id])
        assert (closed.content, closed.closed_because) == ("A secret", "forgotten: asked: the zebra")
        assert closed.encrypted
        assert (replaced.content, replaced.closed_because) == ("Another", "replaced")
        assert await there.check() == []
    assert b"zebra" in stored_in_files(tmp_path / "here")
    assert b"zebra" not in stored_in_files(tmp_path / "there")


@pytest.mark.parametrize("field", ["content", "closed_because"])
async def test_nothing_that_is_imported_passes_for_ciphertext(tmp_path, field):
    async with plain(tmp_path / "here") as jay:
        told = await jay.remember("Said once", user="anna")
        await jay.forget(told.memory.id, reason="enough", user="anna")
        head, line = [line async for line in jay.export()]
    async with plain(tmp_path / "there") as jay:
        with pytest.raises(InvalidInput, match=f"{field} begins with 'scrubjay-sealed:1:'"):
            await jay.import_lines(
                [head, json.dumps({**json.loads(line), field: "scrubjay-sealed:1:and nothing else"})]
            )
        assert await jay.list(history=True) == []


async def test_an_archive_holds_ciphertext(tmp_path):
    async with memory(tmp_path) as jay:
        for said in SECRETS[:4]:
            await jay.working.append([{"role": "user", "content": f"The linter of {said} is ruff."}], session="s")
        await jay.working.end(session="s")
        await jay.consolidate()
        before = await jay.list(kinds=["message"], order="oldest")
        policy = Policy(archive_after=timedelta(microseconds=1))
        dry = await jay.consolidate(steps="archive", policy=policy, dry_run=True)
        assert {planned.what for planned in dry.planned} == {"message (encrypted)"}
        assert (await jay.consolidate(steps="archive", policy=policy))["archive"].done == 4
        [file] = await jay.work.archives()
        assert leaked(gzip.decompress(file.file.read_bytes())) == []
        assert await jay.work.restore_archive(file.file) == 4
        back = await jay.list(kinds=["message"], order="oldest")
        assert [one.content for one in back] == [one.content for one in before]
        assert await jay.recall("linter", kinds=["message"])
    assert leaked(stored_in_files(tmp_path)) == []


@pytest.mark.parametrize("changes", [{"valid_from": NOW - DAY}, {"key": "spare"}, {"importance": 0.9}])
async def test_what_was_told_in_plain_can_be_changed_once_everything_is_encrypted(place, tmp_path, changes):
    options, _ = place
    async with plain(tmp_path, **options) as jay:
        told = await jay.remember(SECRETS[0], key="pref:flower", data={"n": SECRETS[1]}, user="anna")
    async with memory(tmp_path, encrypted_search="meaning", **options) as jay:
        await jay.update(told.memory.id, user="anna", **changes)
        await jay.encryption.rotate(rows=True)
        rows = await jay.list(history=True, user="anna")
        assert {one.content for one in rows} == {SECRETS[0]}
        assert (await jay.encryption.status()).plain == 0
        assert await jay.check() == []


async def test_who_read_in_plain_what_is_sealed_by_then_closes_it_sealed(place, tmp_path):
    options, _ = place
    async with plain(tmp_path, **options) as jay:
        told = await jay.remember(SECRETS[0], key="pref:flower", user="anna")
    async with memory(tmp_path, **options) as jay:
        await jay.update(told.memory.id, user="anna", valid_from=NOW - DAY)
        # Both versions are sealed, also the one that was read before its twin was.
        assert (await jay.encryption.status()).plain == 0
