"""Ways in: each translates and holds no logic."""
