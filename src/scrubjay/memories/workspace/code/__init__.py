"""What is known about the code itself: searching it, citing it, and the files that matter for a task."""
