"""Types that packages share are defined here. Pure: they take data, do no I/O, and are used in every process.

Of other code only what stands below is imported: `plain`, `numbers`, `errors` and the like. Begin with `trial`, which
has the specs of trials and their results; `workload` is what is sent, `load` what a load generator reports of it.
"""
