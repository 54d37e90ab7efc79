"""What the driver's errors mean. REST and gRPC say the same things in two ways."""

from typing import Final

import grpc  # type: ignore[import-untyped]  # gRPC has no types of its own
import httpx
from qdrant_client.common.client_exceptions import QdrantException
from qdrant_client.http.exceptions import ApiException, ResponseHandlingException, UnexpectedResponse

from scrubjay.backends.vectors.qdrant.place import Place
from scrubjay.errors import InvalidInput, StoreUnavailable

DRIVER_ERRORS: Final = (ApiException, QdrantException, grpc.aio.AioRpcError)

_STATUS: Final = {
    grpc.StatusCode.NOT_FOUND: 404,
    grpc.StatusCode.ALREADY_EXISTS: 409,
    grpc.StatusCode.INVALID_ARGUMENT: 400,
    grpc.StatusCode.UNAUTHENTICATED: 401,
    grpc.StatusCode.PERMISSION_DENIED: 403,
}
_NO_ANSWER: Final = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)


class NotThere(Exception):
    """The collection is not there, or not any more."""


class AlreadyThere(Exception):
    """The collection was made by somebody else."""


def meaning(error: Exception, place: Place) -> Exception:
    """Our error for the driver's: one of the two above, InvalidInput or StoreUnavailable."""
    name, status, said = place.name, _status(error), _said(error)
    match status:
        case 404:
            return NotThere(said)
        case 409:
            return AlreadyThere(said)
        case 400 if "already exists" in said:  # as older servers say it
            return AlreadyThere(said)
        case 400 | 422:
            return InvalidInput(f"{name} refuses it: {said}")
        case 401 | 403:
            return StoreUnavailable(f"{name} refuses the API key: {said}. Check it, and that it may write")
        case int():
            return StoreUnavailable(f"{name} failed with {status}: {said}. Look into its log")
    if _is_late(error):
        return StoreUnavailable(
            f"{name} did not answer within {place.timeout} seconds. Check that it runs and is not overloaded, or give "
            "it longer with the option `timeout`"
        )
    return StoreUnavailable(f"{name} cannot be reached: {said}. Check that it runs and that SCRUBJAY_VECTORS is right")


def is_lost(error: Exception) -> bool:
    """Whether the connection broke, or there was none: a new one may do."""
    if isinstance(error, grpc.aio.AioRpcError):
        return bool(error.code() == grpc.StatusCode.UNAVAILABLE)
    broken = httpx.NetworkError | httpx.RemoteProtocolError
    return isinstance(error, ResponseHandlingException) and isinstance(error.source, broken)


def _is_late(error: Exception) -> bool:
    if isinstance(error, TimeoutError):
        return True
    if isinstance(error, grpc.aio.AioRpcError):
        return bool(error.code() == grpc.StatusCode.DEADLINE_EXCEEDED)
    return isinstance(error, ResponseHandlingException) and isinstance(error.source, httpx.TimeoutException)


def _status(error: Exception) -> int | None:
    """The HTTP status of an answer; None when there was none."""
    if isinstance(error, grpc.aio.AioRpcError):
        return None if error.code() in _NO_ANSWER else _STATUS.get(error.code(), 500)
    if isinstance(error, UnexpectedResponse):
        return error.status_code
    return 429 if isinstance(error, QdrantException) else None


def _said(error: Exception) -> str:
    """What went wrong in the other side's words, on one line."""
    if isinstance(error, grpc.aio.AioRpcError):
        text = error.details() or error.code().name
    elif isinstance(error, UnexpectedResponse):
        text = _reason(error)
    elif isinstance(error, ResponseHandlingException):
        text = str(error.source) or type(error.source).__name__
    else:
        text = str(error)
    return " ".join(text.split())[:300].rstrip(".")


def _reason(error: UnexpectedResponse) -> str:
    """What Qdrant wrote into its answer, or what a proxy before it did."""
    try:
        return str(error.structured()["status"]["error"])
    except (ValueError, LookupError, TypeError):
        return error.content.decode(errors="replace") or error.reason_phrase
