"""Encryption at rest, between the paths and the stores: AES-256-GCM with a key for each tenant."""
