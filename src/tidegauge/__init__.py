"""Tidegauge: messaging systems measured side by side on equal terms."""

__version__ = "0.1.0"
