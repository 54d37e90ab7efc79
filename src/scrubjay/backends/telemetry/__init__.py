"""Watchers: metrics for Prometheus, traces for OpenTelemetry, and a log of what was done."""
