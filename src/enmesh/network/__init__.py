"""The network that a run returns: its tables, its file, and what it can be asked."""
