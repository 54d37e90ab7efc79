"""A write walks these in order: redact → prepare → reconcile → (store) → embed → index."""
