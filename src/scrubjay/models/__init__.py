"""Embedders: offline ones first."""
