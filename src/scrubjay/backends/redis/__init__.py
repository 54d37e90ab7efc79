"""Redis, or Valkey, which speaks the same: one server, a group behind Sentinel, or a Cluster."""

from scrubjay.backends.redis.connection import RedisConnection, key_of

__all__ = ["RedisConnection", "key_of"]
