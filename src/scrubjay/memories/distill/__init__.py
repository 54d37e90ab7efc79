"""Distilling: what was said becomes a summary and candidates for facts, without a language model or with one."""

from scrubjay.memories.distill.abstractive import condense
from scrubjay.memories.distill.distilling import distill

__all__ = ["condense", "distill"]
