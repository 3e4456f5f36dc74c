"""Experiments decide which trial comes next and what their trials show: one module for each. Pure.

An experiment does no I/O: it asks a `Lab` for trials and returns a finding. Begin with `procedure`, which finds each
module that has an `EXPERIMENT`, then `peak`, which is short.
"""
