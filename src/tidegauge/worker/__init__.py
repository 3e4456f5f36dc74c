"""The client of the load generator, which is Java (`worker/` of the repository). Runs in the controller.

It starts workers through agents, speaks gRPC with them and gives plain data to others: `worker.proto` is known here
only. No message of a system passes through it. Begin with `api.LoadWorker`; `launch` starts one, `client` speaks to it,
and `group` makes several look like one.
"""
