"""What agent frameworks keep in Scrubjay, in the core's own verbs: checkpoints of runs, items of a store, chats."""
