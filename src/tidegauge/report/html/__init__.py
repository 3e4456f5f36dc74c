"""A run as one HTML file that needs nothing else: no network, no other file, no browser of a certain kind."""
