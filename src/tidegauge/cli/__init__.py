"""The command `tidegauge`, which is the controller: it takes options, prints, and ends with an exit code.

Only this package prints, and nothing imports it. Begin with `main`, which has the verbs and makes messages of errors;
`planning` reads and plans what is asked for, `running` carries it out, and `output` has the exit codes.
"""
