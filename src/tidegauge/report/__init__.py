"""What was found is worded here, for terminals, pages, Markdown, JUnit, CSV and JSON. Runs in the controller.

It knows a run from its files alone (`store.read`), so it does not import `campaign`; only its `live` follows events, of
a run that goes on. It returns what is to be shown: `cli` prints it, and `store` writes what a run keeps. Begin with
`facts`, which reads a run once for all media, then `terminal` and `html.page`; `plots` has the pictures.
"""
