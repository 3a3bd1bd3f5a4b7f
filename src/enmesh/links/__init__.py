"""The test of a link, and what selects the sources of a target by it."""
