"""``python -m enmesh``: the command line."""

import sys

from enmesh.cli import main

if __name__ == "__main__":
    sys.exit(main())
