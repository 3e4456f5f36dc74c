"""The search for a sustainable rate: what counts as one, where to look next, and how it is confirmed. Pure."""
