"""Pictures of networks: layout, Matplotlib figures and the self-contained HTML page."""
