"""Comparing runs of any age: what differs around them, what of theirs belongs together, and how it relates."""
