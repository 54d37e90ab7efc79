"""Reading a repository: which files count, how they are cut into pieces, and how the pieces become memories."""
