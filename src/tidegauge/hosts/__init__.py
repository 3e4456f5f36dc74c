"""What a host is, has and can do is asked and changed here, always of the machine on which the code runs.

It runs in agents, in the probes of `fleet check`, and in the controller for what needs no root. Only code of this
package needs root: each module that does says so, and `abilities` tells what can be done without. Begin with `facts`,
`abilities` and `procfs`.
"""
