"""Search by meaning in Chroma, on a server or in this process."""

from scrubjay.backends.vectors.chroma.store import ChromaVectors

__all__ = ["ChromaVectors"]
