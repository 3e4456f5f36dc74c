"""Durability put to the proof: what was acknowledged before a cut, what is there after it, and what follows. Pure."""
