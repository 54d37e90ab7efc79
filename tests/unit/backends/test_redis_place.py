"""Where a Redis is: every form of the URL, every mistake in it named, and never a password shown."""

import pytest

from scrubjay.backends.redis import RedisConnection, key_of
from scrubjay.backends.redis.driver import opened
from scrubjay.backends.redis.place import Place
from scrubjay.errors import Misconfigured


@pytest.mark.parametrize(
    ("url", "name", "expected"),
    [
        ("redis://localhost", "redis://localhost:6379", {"kind": "server", "database": 0}),
        ("redis://h:7000/3", "redis://h:7000/3", {"database": 3}),
        ("redis://h?db=4", "redis://h:6379/4", {"database": 4}),
        ("rediss://h", "rediss://h:6379", {"tls": True}),
        ("redis://[::1]:7000", "redis://[::1]:7000", {"addresses": (("::1", 7000),)}),
        ("redis://:p%40ss@h", "redis://h:6379", {"username": None, "password": "p@ss"}),
        ("redis://anna:p:w@h", "redis://h:6379", {"username": "anna", "password": "p:w"}),
        ("unix:///run/redis.sock?db=2", "unix:///run/redis.sock", {"kind": "socket", "database": 2}),
        (
            "redis+sentinel://anna:pw@a:1,b,[::1]:3/jays/5?sentinel_password=s",
            "redis+sentinel://a:1,b:26379,[::1]:3/jays/5",
            {"master": "jays", "database": 5, "password": "pw", "sentinel_password": "s"},
        ),
        ("rediss+sentinel://a/jays", "rediss+sentinel://a:26379/jays", {"tls": True, "kind": "sentinel"}),
        ("redis+cluster://a:1,b:2", "redis+cluster://a:1,b:2", {"kind": "cluster"}),
        ("rediss+cluster://a", "rediss+cluster://a:6379", {"tls": True, "kind": "cluster"}),
        ("redis://h?timeout=0.5&max_connections=4", "redis://h:6379", {"timeout": 0.5, "connections": 4}),
        ("rediss://h?ssl_ca_certs=/ca.pem", "rediss://h:6379", {"tls_options": {"ssl_ca_certs": "/ca.pem"}}),
    ],
)
def test_every_form_is_understood(url, name, expected):
    place = Place.of(url)
    assert place.name == name
    assert {field: getattr(place, field) for field in expected} == expected


@pytest.mark.parametrize(
    ("url", "fault"),
    [
        ("localhost:6379", "scheme 'localhost'"),
        ("http://h", "scheme 'http'"),
        ("redis://", "names no host"),
        ("redis://h:seven", "names the address 'h:seven'"),
        ("redis://a,b", "several servers"),
        ("redis://h/one", "gives db as 'one'"),
        ("redis://h/1/2", "has the path '/1/2'"),
        ("redis://h?colour=blue", "unknown option colour"),
        ("redis://h?timeout=soon", "gives timeout as 'soon'"),
        ("redis://h?timeout=0", "gives timeout as '0'"),
        ("redis://h?timeout=nan", "gives timeout as 'nan'"),
        ("redis://h?max_connections=1", "gives max_connections as '1'"),
        ("redis+sentinel://a:1,b:2", "names no master"),
        ("redis+cluster://a:1/3", "has the path '/3'"),
        ("redis+cluster://a:1?db=3", "a Cluster has only one"),
        ("unix://", "names no path"),
        ("unix://host/path", "names no path"),
        ("redis://:half#way@h", "%23"),
        ("redis://[::1", "cannot be read"),
    ],
)
def test_a_mistake_is_named_with_the_setting_and_the_remedy(url, fault):
    with pytest.raises(Misconfigured) as raised:
        RedisConnection(url)
    message = str(raised.value)
    assert message.startswith("SCRUBJAY_WORKING is ")
    assert fault in message
    assert ": use redis" in message or ": use unix" in message


@pytest.mark.parametrize(
    "url",
    [
        "redis://anna:opensesame@h/one",
        "redis://anna:open/sesame@h/one",
        "redis://anna:opensesame@h:seven",
        "gopher://anna:opensesame@h",
        "redis+sentinel://a?sentinel_password=opensesame",
        "redis://:opensesame@h#x",
    ],
)
def test_a_password_is_never_shown(url):
    with pytest.raises(Misconfigured) as raised:
        RedisConnection(url)
    assert "sesame" not in str(raised.value)
    assert "anna" not in str(raised.value)


def test_neither_is_it_in_what_is_printed():
    connection = RedisConnection("redis+sentinel://anna:opensesame@h/jays?sentinel_password=opensesame")
    assert "opensesame" not in f"{connection.name} {connection.place!r}"


@pytest.mark.parametrize(
    ("url", "encrypted"),
    [
        ("redis://h", False),
        ("rediss://h", True),
        ("redis+sentinel://h/jays", False),
        ("rediss+sentinel://h/jays", True),
    ],
)
def test_tls_is_used_when_it_is_asked_for(url, encrypted):
    from redis.asyncio.connection import SSLConnection

    client, sentinels = opened(Place.of(url))
    for one in (client, *sentinels):
        assert issubclass(one.connection_pool.connection_class, SSLConnection) is encrypted


async def test_tls_is_used_in_a_cluster_too():
    from redis.asyncio.connection import SSLConnection

    client, _ = opened(Place.of("rediss+cluster://h"))
    [node] = client.nodes_manager.startup_nodes.values()
    assert node.connection_class is SSLConnection
    await client.aclose()


def test_keys_name_the_tenant_in_braces_and_never_meet():
    assert key_of("acme", "working", "s-1") == "scrubjay:{acme}:working:s-1"
    assert key_of("a}b", "x") == "scrubjay:{a%7Db}:x"
    keys = {key_of("a:b", "c"), key_of("a", "b", "c"), key_of("a", "b:c"), key_of("a%3Ab", "c"), key_of("a", "b}:{c")}
    assert len(keys) == 5
    assert all(key.count("{") == key.count("}") == 1 for key in keys)


def test_keys_of_one_tenant_lie_on_one_node():
    from redis.crc import key_slot

    slots = {key_slot(key_of("acmé {x}", "working", str(number)).encode()) for number in range(50)}
    assert len(slots) == 1
    assert len({key_slot(key_of(f"tenant {number}").encode()) for number in range(50)}) > 40
