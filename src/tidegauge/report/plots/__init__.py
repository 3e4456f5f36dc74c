"""Plots of a run: pure functions from what was stored to plot models, and one module that draws them."""
