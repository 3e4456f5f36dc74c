"""Many hosts measure together by what is here: their file, their check, their clocks, and their agents as one.

It runs in the controller, but for `ray_node`, which starts Ray and opens ports on each host (`tidegauge fleet head` and
`join`), and `probes`, which Ray runs on each host for a check. Only `ray_launcher` imports Ray. Begin with `file` and
`api`, then `remote`.
"""
