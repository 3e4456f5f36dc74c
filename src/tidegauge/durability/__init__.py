"""Durability levels: what an acknowledgement promises. Pure."""
