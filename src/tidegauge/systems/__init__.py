"""Messaging systems: one folder each, found by `systems.registry`; what they share is in the files beside it."""
