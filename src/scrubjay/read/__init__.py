"""A read walks these in order: understand → retrieve → fuse → hydrate → rerank → assemble."""
