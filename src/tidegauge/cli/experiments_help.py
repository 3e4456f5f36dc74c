"""The help of a verb that runs campaigns: which experiments one may hold."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand


class WithExperiments(TyperCommand):
    """A verb whose help ends with a line for each experiment, as the experiments themselves say it.

    They are loaded only when somebody asks for help: every other call starts without them.
    """

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """The usual help, and the experiments after its example."""
        from tidegauge.experiments.registry import experiments

        told = [f"{name}: {experiment.summary}" for name, experiment in experiments().items()]
        example = self.epilog
        self.epilog = "\n\n".join([*([example] if example else []), "Experiments of a campaign:", *told])
        try:
            super().format_help(ctx, formatter)
        finally:
            self.epilog = example
