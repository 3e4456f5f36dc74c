"""Thresholds: what a campaign asks of its figures, written in a line each. Pure."""
