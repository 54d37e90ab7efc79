"""One file or folder per engine. They know the ports, the model and the errors, and nothing of each other's callers."""
