"""Workspace memory: completed jobs, their files and artifacts, and the repository itself."""
