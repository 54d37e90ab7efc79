"""Search by meaning in Qdrant."""

from scrubjay.backends.vectors.qdrant.store import QdrantVectors

__all__ = ["QdrantVectors"]
