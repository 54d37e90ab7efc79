"""Memory for AI agents: what, where and when."""

__version__ = "0.1.0"
