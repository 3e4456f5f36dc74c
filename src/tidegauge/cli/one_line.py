"""`bench` and `ab`: what one line asks for becomes a campaign, and is run like any other."""

from __future__ import annotations

from pathlib import Path

import typer

from tidegauge.campaign.model import Campaign
from tidegauge.campaign.plan.contenders import label_of_system
from tidegauge.campaign.read.one_line import CommandLine, Composed, compose_line
from tidegauge.campaign.run.asking import AskedCluster
from tidegauge.cli.asking import cluster_book
from tidegauge.cli.options import RunOptions
from tidegauge.cli.output import EXIT_GOOD, NAME, Output, command_line
from tidegauge.cli.planning import check_directory, run_parsed
from tidegauge.errors import AccessRefusedError, RunFailedError, UserError
from tidegauge.numbers import plural


def run_line(line: CommandLine, options: RunOptions, out: Output, *, print_campaign: bool) -> int:
    """Measure what a line asks for, or print it as a campaign file. Returns the exit code.

    Raises `UserError` before anything is started, `RunFailedError` if the cluster can't be asked.
    """
    options.files.check()
    check_directory("--runs-dir", options.runs_directory)
    composed = compose_line(line)
    where = Path(f"{NAME} {line.verb}")
    campaign = composed.campaign(where, composed.text())
    if composed.is_attached and composed.needs_partitions:
        sentence = _take_partitions(composed, campaign, line.file)
        if print_campaign:
            typer.echo(sentence, err=True)  # Standard output may be a file.
        else:
            out.say(sentence)
    text = composed.text(command_line("--print-campaign"))
    if print_campaign:
        typer.echo(text, nl=False)
        return EXIT_GOOD
    if composed.is_attached and not options.dry_run:
        _ask_cluster(composed, campaign, line.file)  # One that is not there leaves no run behind.
    return run_parsed(composed.campaign(where, text), options, out, text)


def _ask_cluster(composed: Composed, campaign: Campaign, file: Path | None) -> AskedCluster:
    """What the cluster of a line reports of itself. Raises `UserError`, `RunFailedError`."""
    choice = campaign.systems[0]
    label = label_of_system(choice, composed.system)
    if choice.attach is None:
        raise UserError(f"{label} is no cluster that could be asked.")
    try:
        return cluster_book().ask(composed.system, choice.attach, label)
    except AccessRefusedError as error:
        raise AccessRefusedError(error.message, error.hint or _hint_on_access(composed, file)) from error
    except RunFailedError as error:
        says = f"Check what {file} says of it." if file else "Check the address, and that it is up."
        raise RunFailedError(error.message, error.hint or says) from error


def _hint_on_access(composed: Composed, file: Path | None) -> str:
    if file:
        return f"Check what {file} says of encryption, and of who the client is."
    of_tools = "--client-properties FILE (that of the system's own tools), or "
    options = f"{of_tools if composed.system.client_properties((), '') is not None else ''}--attach FILE"
    return f"Say in a file how clients get in: {options}."


def _take_partitions(composed: Composed, campaign: Campaign, file: Path | None) -> str:
    """Give topics as many partitions as a cluster gives those of which nobody says it, and at least one for each node.

    Returns a sentence on it. Raises `UserError`, `RunFailedError`.
    """
    system, asked = composed.system, _ask_cluster(composed, campaign, file)
    by_default, nodes = system.partitions_by_default(asked.settings), asked.nodes or 1
    partitions = max(1, by_default, nodes)
    composed.put(("workload", "partitions"), partitions, "--partitions")
    why = f"its default is {by_default}, and it has {plural(nodes, 'node')}" if by_default else plural(nodes, "node")
    label = label_of_system(campaign.systems[0], system)
    return f"{label}: topics get {plural(partitions, 'partition')} ({why}); --partitions takes another number."
