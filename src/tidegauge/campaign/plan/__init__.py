"""Trials are planned here, with what they need of hosts and how equal systems' terms are. Runs in the controller.

A plan starts nothing and sets nothing on a host: `campaign.run` does that. What can't be carried out is refused with
the figures (`UserError`) before anything starts. Begin with `plan.plan_campaign`; whether what it makes can be done,
and fairly, is for `memory`, `generators`, `limits` and `fairness`.
"""
