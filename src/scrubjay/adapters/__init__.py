"""Other people's interfaces on our verbs."""
