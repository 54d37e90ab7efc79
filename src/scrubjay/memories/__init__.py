"""What each kind of memory adds, in the service's own verbs."""
