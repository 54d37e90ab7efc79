"""The driver: how its clients are made, and what its errors mean. The only module that imports it."""

from typing import Any, Final, TypeAlias

from redis.asyncio import Redis, RedisCluster, Sentinel
from redis.asyncio.cluster import ClusterNode
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import (
    AskError,
    AuthenticationError,
    AuthorizationError,
    BusyLoadingError,
    ClusterDownError,
    NoPermissionError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisClusterException,
    RedisError,
    ResponseError,
    SlotNotCoveredError,
    TryAgainError,
    WatchError,
)
from redis.exceptions import ConnectionError as LostConnection
from redis.exceptions import TimeoutError as LateAnswer

from scrubjay.backends.redis.place import Place
from scrubjay.errors import StoreUnavailable

AnyClient: TypeAlias = Redis | RedisCluster

CLIENT_NAME: Final = "scrubjay"
CHECK_SECONDS: Final = 15
"""A connection that was idle for longer is tried with a PING before it is used."""

DRIVER_ERRORS: Final = (RedisError, RedisClusterException, OSError)
RACE: Final = WatchError
"""Another client changed what this one was watching: an answer, and no failure."""

_FAILOVER: Final = (
    AskError,
    BusyLoadingError,
    ClusterDownError,
    ReadOnlyError,
    SlotNotCoveredError,
    TryAgainError,
)
_FAILOVER_WORDS: Final = (
    "LOADING",
    "READONLY",
    "CLUSTERDOWN",
    "MASTERDOWN",
    "TRYAGAIN",
    "No master found",
    "The previous master",
)


def opened(place: Place) -> tuple[AnyClient, list[Redis]]:
    """A client for this place, and those for the Sentinels that it asks. Nothing is connected yet."""
    sockets: dict[str, Any] = {
        "socket_timeout": place.timeout,
        "socket_connect_timeout": place.timeout,
        # The attempts are counted by the caller, who knows what may be repeated.
        "retry": Retry(NoBackoff(), 0),
        "protocol": 2,  # which every version of the driver and of the server answers alike
        **({"ssl": True, **place.tls_options} if place.tls else {}),
    }
    login = {"username": place.username, "password": place.password, "client_name": CLIENT_NAME}
    options: dict[str, Any] = {**sockets, **login, "health_check_interval": CHECK_SECONDS}
    match place.kind:
        case "cluster":
            nodes = [ClusterNode(host, port) for host, port in place.addresses]
            return RedisCluster(startup_nodes=nodes, require_full_coverage=False, **options), []
        case "sentinel":
            asked = {**sockets, "username": place.sentinel_username, "password": place.sentinel_password}
            sentinel: Any = Sentinel(place.addresses, sentinel_kwargs=asked)  # type: ignore[no-untyped-call]  # theirs
            return sentinel.master_for(place.master, db=place.database, **options), sentinel.sentinels
        case "socket":
            return Redis(unix_socket_path=place.path, db=place.database, **options), []
        case _:
            host, port = place.addresses[0]
            return Redis(host=host, port=port, db=place.database, **options), []


def closed_by_another() -> Exception:
    """The error of a connection that was gone before anything was sent."""
    return LostConnection("the connection was closed while connecting to the server")


def may_pass(error: Exception, *, repeat: bool) -> bool:
    """Whether another attempt makes sense, and does no harm where nothing may be done twice."""
    if isinstance(error, AuthenticationError | AuthorizationError):
        return False
    if _is_failover(error) or "connecting to" in str(error):
        return True  # Nothing was done.
    # One that is late is not asked again: the caller has waited, and would rather do without.
    return repeat and isinstance(error, LostConnection | RedisClusterException | ConnectionError)


def meaning(error: Exception, place: Place, *, within: float) -> StoreUnavailable:
    """Our error for the driver's: the server, what it said, and what to do."""
    name, said = place.name, " ".join(str(error).split())[:300].rstrip(".") or type(error).__name__
    if isinstance(error, AuthenticationError) or said.startswith(("NOAUTH", "WRONGPASS")):
        return StoreUnavailable(f"{name} refuses the login: {said}. Check the password in SCRUBJAY_WORKING")
    if isinstance(error, NoPermissionError):
        return StoreUnavailable(f"{name} does not allow it: {said}. Give the user the rights that it needs")
    if isinstance(error, OutOfMemoryError):
        return StoreUnavailable(f"{name} is full: {said}. Raise maxmemory, or set a maxmemory-policy")
    if is_refusal(error):
        return StoreUnavailable(f"{name} refuses a command: {said}. Check that it is Redis 6.2 or newer")
    if isinstance(error, LateAnswer | TimeoutError):
        return StoreUnavailable(
            f"{name} did not answer within {min(within, place.timeout):g} seconds. Check that it runs and is not "
            "overloaded, or give it longer with the option `timeout`"
        )
    return StoreUnavailable(f"{name} cannot be reached: {said}. Check that it runs and that SCRUBJAY_WORKING is right")


def is_refusal(error: BaseException | None) -> bool:
    """Whether the server answered, and said no."""
    return isinstance(error, ResponseError) and not _is_failover(error)


def _is_failover(error: Exception) -> bool:
    """Whether the server says that it is not ready, no longer the master, or that the Cluster is being mended."""
    return isinstance(error, _FAILOVER) or str(error).startswith(_FAILOVER_WORDS)
