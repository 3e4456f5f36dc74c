"""`python -m tidegauge.cli`."""

from tidegauge.cli.main import main

main()
