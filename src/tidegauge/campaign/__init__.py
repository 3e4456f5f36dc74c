"""What is measured and in which order, from a campaign's file to stored trials, is decided here, in the controller.

`read` makes a `Campaign` (`model`) of the file, `plan` makes the trials of that, and `run` carries them out. Each of
the three has its own rules in its `__init__`. Nothing here prints, and `report`, `live` and `comparison` do not import
it: they show what was stored. Begin with `read.parse`, `plan.plan` and `run.execute`, in this order.
"""
