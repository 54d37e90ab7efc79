"""What requests carry, a file for each memory. Types are checked here; what a value may be, by the value itself."""
