"""Search by meaning: one file per vector engine."""
