"""Recordings: the `Series` value, the readers of files, graphs as users write them, and writing to files."""
