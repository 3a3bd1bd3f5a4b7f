"""``python -m enmesh``: the command line."""

from enmesh.cli import main

main()
