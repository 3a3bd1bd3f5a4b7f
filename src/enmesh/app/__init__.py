"""The local page: a recording is looked at, prepared, run and explored in a browser (`enmesh open`).

``form`` is the table of what the page offers; ``server`` answers the browser; ``session`` keeps recordings and runs in
a private folder; ``worker`` is the process that reads and infers, with ``look`` for recordings; ``page/`` is the page.
"""
