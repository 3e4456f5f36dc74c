"""Durability tested by power cuts: what was acknowledged before, what is there after, and what follows. Pure."""
