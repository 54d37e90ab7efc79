"""What an answer says about the allowance of a key, and what is said when there is none left."""

from scrubjay.errors import TooManyRequests
from scrubjay.model.access import Spent


def headers_of(spent: Spent) -> dict[str, str]:
    """The headers as the IETF's draft names them, and Retry-After for whoever has to wait."""
    said = {
        "RateLimit-Limit": str(spent.limit),
        "RateLimit-Remaining": str(spent.left),
        "RateLimit-Reset": str(spent.reset),
        "RateLimit-Policy": f'"{spent.kind}";q={spent.limit};w={spent.window}',
    }
    return said | {"Retry-After": str(spent.reset)} if spent.refused else said


def too_many_failed(spent: Spent) -> TooManyRequests:
    """What is said to an address that keeps coming with keys that are not valid."""
    return TooManyRequests(
        f"this address came with a key that is not valid {spent.limit:,} times in {spent.window:,} seconds: "
        f"check the key, wait {spent.reset} s, or raise SCRUBJAY_LIMIT_FAILED"
    )


def check_allowed(spent: Spent) -> None:
    """Raise TooManyRequests when the request is one too many."""
    if spent.refused:
        raise TooManyRequests(
            f"this key may make {spent.limit:,} {spent.kind} requests in {spent.window:,} seconds: "
            f"wait {spent.reset} s, or raise SCRUBJAY_LIMIT_{spent.kind.upper()}"
        )
