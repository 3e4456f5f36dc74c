"""Plans are carried out here, step by step and trial by trial. Runs in the controller.

It starts processes through agents of hosts (`agent.api.Host`) and orders load from workers (`worker.api`): no message
passes through it. `store` writes the run's files, and progress is reported as events (`model.events`). Begin with
`execute.execute`; `running_trial` has what a trial works with, and `trial` takes it from phase to phase.
"""
