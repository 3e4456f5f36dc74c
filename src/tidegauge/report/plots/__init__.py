"""Plots of a run: pure functions from what was stored to plot models, and one module that draws them."""

import os

# Figures are made without a backend, and matplotlib refuses to be imported with one that it does not know.
os.environ["MPLBACKEND"] = "agg"
