"""One trial is carried out here, from its first phase to its last. Runs in the controller.

Begin with `run.run_trial`, which has the order of the phases. What differs between kinds of trials is a
`procedure.TrialProcedure`: `load` sends, `read` only reads, `attest` cuts power or crashes servers. `result` is pure:
it makes a trial's result of figures and has no clock.
"""
