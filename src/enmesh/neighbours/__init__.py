"""Exact neighbour counts under the KSG and box-kernel estimators: one interface, one module per device."""
