"""The command line door."""

from scrubjay.doors.cli.app import app, main

__all__ = ["app", "main"]
