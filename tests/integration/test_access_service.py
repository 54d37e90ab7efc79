"""Keys through their life, what is noted of them, and what is written down: on every kind of store."""

from datetime import timedelta

import pytest

from scrubjay import open_async
from scrubjay.errors import Closed, Forbidden, InvalidInput, NotFound, Unauthenticated
from scrubjay.model.access import ApiKey, Caller

HOUR = timedelta(hours=1)


async def test_the_secret_is_kept_nowhere(jay):
    made = await jay.access.create_key("ci")
    secret = made.text[len("sj_0123456789abcdef_") :]
    assert secret not in repr(made)
    stored = await jay.parts.access.keys.find(made.key.id)
    assert secret.encode() not in stored.digest
    assert secret not in str(await jay.access.keys()) + str(await jay.access.audit())


async def test_a_key_opens_its_tenant_until_it_ends(setup):
    jay = await setup.open()
    made = await jay.for_tenant("acme").access.create_key(
        "ci", rights=["write", "read"], expires_at=setup.clock() + HOUR
    )
    found = await jay.access.authenticate(made.text)
    assert (found.id, found.tenant, found.rights) == (made.key.id, "acme", ("read", "write"))
    setup.clock.advance(2 * HOUR)
    with pytest.raises(Unauthenticated, match="expired"):
        await jay.access.authenticate(made.text)


async def test_rotating_leaves_a_while_for_the_old_key(setup):
    jay = await setup.open()
    old = await jay.access.create_key("ci", users=["anna"], rights=["read"])
    new = await jay.access.rotate(old.key.id, grace=HOUR)
    assert (new.key.name, new.key.rights, new.key.bounds) == (old.key.name, old.key.rights, old.key.bounds)
    for made in (old, new):
        assert await jay.access.authenticate(made.text)
    setup.clock.advance(2 * HOUR)
    assert await jay.access.authenticate(new.text)
    with pytest.raises(Unauthenticated, match="expired"):
        await jay.access.authenticate(old.text)
    with pytest.raises(InvalidInput, match="is expired"):
        await jay.access.rotate(old.key.id)


async def test_a_key_may_be_named_as_it_is_written(jay):
    made = await jay.access.create_key("ci")
    assert (await jay.access.revoke(made.text)).id == made.key.id
    with pytest.raises(Unauthenticated, match="revoked"):
        await jay.access.authenticate(made.text)


async def test_last_use_is_noted_at_most_once_a_minute(setup):
    jay = await setup.open()
    made = await jay.access.create_key("ci")

    async def used():
        await jay.access.authenticate(made.text)
        await jay.parts.later.flush()
        return (await jay.access.keys())[0].used_at

    first = await used()
    assert first is not None
    assert await used() == first
    setup.clock.advance(HOUR)
    assert await used() > first


async def test_tenants_do_not_reach_each_others_keys(jay):
    made = await jay.for_tenant("acme").access.create_key("ci")
    for verb in (jay.access.revoke, jay.access.rotate):
        with pytest.raises(NotFound):
            await verb(made.key.id)
    assert await jay.access.keys() == []
    assert await jay.access.audit() == []
    assert await jay.access.authenticate(made.text)


async def test_what_is_purged_is_written_down_and_what_a_key_forgets(jay):
    held = jay.for_caller(Caller(key="aa", request="r-1"))
    for number, forgetting in enumerate((jay, held)):
        told = await jay.remember(f"Ornithorhynchus {number}")
        await forgetting.forget(told.memory.id)
        told = await jay.remember(f"Gone for good {number}")
        await forgetting.forget(told.memory.id, purge=True)
    log = await jay.access.audit()
    assert [(entry.key, entry.action) for entry in log] == [
        ("aa", "memory.purged"),
        ("aa", "memory.forgotten"),
        (None, "memory.purged"),
    ]
    assert log[0].ids == (told.memory.id,)
    assert (log[0].request, log[0].target) == ("r-1", "global: 1 memory")
    assert "Ornithorhynchus" not in str(log)


async def test_what_did_not_happen_is_not_written_down(jay):
    with pytest.raises(NotFound):
        await jay.for_caller(Caller(key="aa")).forget("nothing")
    assert await jay.access.audit() == []


async def test_access_is_closed_to_bound_callers(jay):
    made = await jay.access.create_key("ci")
    narrowed = jay.narrowed(users=["anna"])
    for call in (
        narrowed.access.keys(),
        narrowed.access.audit(),
        narrowed.access.revoke(made.key.id),
        narrowed.access.create_key("more", rights=["admin"]),
    ):
        with pytest.raises(Forbidden):
            await call


async def test_a_closed_memory_answers_nobody(new_setup):
    jay = await new_setup("memory").open()
    await jay.close()
    with pytest.raises(Closed):
        await jay.access.keys()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"rights": []}, "rights is empty"),
        ({"rights": ["fly"]}, "rights holds 'fly'"),
        ({"rights": "read"}, "rights is 'read'"),
        ({"rights": ["admin"], "users": ["anna"]}, "an admin key cannot be bound"),
        ({"name": ""}, "name is ''"),
        ({"name": None}, "name is None"),
    ],
)
async def test_wrong_keys_are_refused(new_setup, given, says):
    jay = await new_setup("memory").open()
    with pytest.raises(InvalidInput, match=says):
        await jay.access.create_key(**{"name": "ci", **given})
    assert await jay.access.keys() == []


def test_rights_have_an_order():
    with pytest.raises(InvalidInput, match="in the order"):
        ApiKey(id="aa", tenant="acme", name="ci", rights=("write", "read"), created_at=None)


async def test_the_log_is_kept_for_as_long_as_was_asked_for(tmp_path):
    async with open_async(tmp_path, embedder="none", background=False) as jay:
        for name in ("first", "second", "third"):
            await jay.access.create_key(name)
        await jay.consolidate(steps="expire")
        assert len(await jay.access.audit()) == 3
    async with open_async(tmp_path, embedder="none", background=False, audit_days=1e-9) as jay:
        await jay.consolidate(steps="expire", dry_run=True)
        assert len(await jay.access.audit()) == 3
        await jay.consolidate(steps="expire")
        [last] = await jay.access.audit()
        assert "third" in last.target
