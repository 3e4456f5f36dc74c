"""Durability tested by power cuts: what was acknowledged, what is there after, what follows. Only evidence is read."""
