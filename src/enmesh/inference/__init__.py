"""From a series to a network: defaults, diagnostics, screening, evaluation by workers, the store and the result."""
