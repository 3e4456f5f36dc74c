"""The process that carries out on a host what a controller asks of it, and what both sides need to speak.

On the host, in the agent's process (`python -m tidegauge.agent.main`, ended with all that it started):

main, listening        begins on this host, or on another one for a controller that connects
children, trees        starts, follows, signals and reaps processes, and finds what descends from them
rig                    networks and disks of nodes' own, and what is done to them
sampler                looks once a second at what is used: process_use, program_use
clock_probe            asks other hosts for their time, and answers
registry, reap         writes down what is made before it is made, and removes what an agent left
watchdog               ends an agent that somebody stopped

In the controller's process: client speaks to an agent, local starts one on this host.
On both sides: api has the types, link what is written, authority who may speak to whom.
"""
