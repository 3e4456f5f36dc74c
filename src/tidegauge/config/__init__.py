"""Strict reading of configuration files: YAML with line numbers, quantities with units, errors that show the way."""
