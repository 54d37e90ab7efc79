"""Column types that mean the same on both dialects and are compact on each."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Final
from uuid import UUID

from sqlalchemy import JSON, BigInteger, DateTime, Dialect, LargeBinary, Text, Uuid
from sqlalchemy.types import TypeDecorator, TypeEngine, UserDefinedType

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


def microseconds(moment: datetime) -> int:
    """Whole microseconds since 1970, exactly."""
    return (moment - _EPOCH) // _MICROSECOND


def moment(value: int) -> datetime:
    """The moment that many microseconds after 1970."""
    return _EPOCH + timedelta(microseconds=value)


def _moment_or_none(value: int | None) -> datetime | None:
    return None if value is None else _EPOCH + timedelta(microseconds=value)


def _in_utc(value: datetime | None) -> datetime | None:
    return None if value is None else value.astimezone(UTC)


def _id_or_none(value: bytes | None) -> UUID | None:
    return None if value is None else id_from(value)


# One recall meets the same id in the index of words, in that of meaning and in the records, and next time again.
@lru_cache(maxsize=20_000)
def id_from(value: bytes) -> UUID:
    """The UUID of these 16 bytes."""
    return UUID(int=int.from_bytes(value))


moment_from: Final = lru_cache(maxsize=20_000)(moment)
"""The same as `moment`, which memories that were written together have in common."""


class Instant(TypeDecorator[datetime]):
    """A moment in UTC, exact to the microsecond: an integer in SQLite, a timestamptz in PostgreSQL."""

    impl = BigInteger
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """The column of this dialect."""
        return dialect.type_descriptor(DateTime(timezone=True) if dialect.name == "postgresql" else BigInteger())

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | datetime | None:
        """To the driver."""
        return value if value is None or dialect.name == "postgresql" else microseconds(value)

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], datetime | None]:  # noqa: ARG002 -- SQLAlchemy's shape
        """From the driver. Given whole, not as `process_result_value`: a recall reads hundreds of these."""
        return _in_utc if dialect.name == "postgresql" else _moment_or_none


class Id(TypeDecorator[UUID]):
    """A UUID: 16 bytes in SQLite, a uuid in PostgreSQL. Both sort by time."""

    impl = LargeBinary
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """The column of this dialect."""
        return dialect.type_descriptor(Uuid() if dialect.name == "postgresql" else LargeBinary(16))

    def process_bind_param(self, value: UUID | None, dialect: Dialect) -> bytes | UUID | None:
        """To the driver."""
        return value if value is None or dialect.name == "postgresql" else value.bytes

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], UUID | None] | None:  # noqa: ARG002 -- SQLAlchemy's shape
        """From the driver; psycopg gives a UUID by itself."""
        return None if dialect.name == "postgresql" else _id_or_none


class JsonObject(TypeDecorator[Any]):
    """JSON: text in SQLite, json in PostgreSQL. An empty one is NULL, since most are.

    Not jsonb, which turns 1e22 into an integer: what goes in comes back exactly. Filters cast where they look inside.
    """

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """The column of this dialect."""
        return dialect.type_descriptor(JSON(none_as_null=True) if dialect.name == "postgresql" else Text())

    def process_bind_param(self, value: Any, dialect: Dialect) -> Any:  # noqa: ANN401 -- any JSON
        """To the driver."""
        if not value:
            return None
        return value if dialect.name == "postgresql" else json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:  # noqa: ANN401, ARG002 -- any JSON; SQLAlchemy's shape
        """From the driver."""
        return json.loads(value) if isinstance(value, str) else value


class Words(UserDefinedType[str]):
    """What PostgreSQL keeps of a text for its search. SQLAlchemy's own comes with all drivers of PostgreSQL."""

    cache_ok = True

    def get_col_spec(self, **_: Any) -> str:  # noqa: ANN401 -- SQLAlchemy's shape
        """The column of the only dialect that has one."""
        return "TSVECTOR"
