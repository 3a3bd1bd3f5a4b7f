"""What a network says next: its fit, forecasts, effects, interventions, power, and parts of what sources tell."""

from enmesh.model.model import Model, fit
