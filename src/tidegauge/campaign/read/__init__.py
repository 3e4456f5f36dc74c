"""Campaigns are read here: a file, or one line of the command line, becomes a `Campaign`. Runs in the controller.

It reads the files that a campaign refers to, and starts no server and no load generator. A mistake of the user becomes
a message with its line and what is allowed. Begin with `parse.parse_campaign`; most other modules read one key each.
"""
