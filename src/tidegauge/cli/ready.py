"""What is there before a run: the ready campaigns, and the files of systems, which can be fetched ahead of it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from tidegauge.cli.options import find_ready_campaigns
from tidegauge.cli.output import EXIT_GOOD, Output
from tidegauge.distribution.cache import Progress, Report
from tidegauge.distribution.login_libraries import fetch_login_library
from tidegauge.errors import UserError
from tidegauge.model.server import Distribution
from tidegauge.numbers import duration, plural, size
from tidegauge.plain import plain_value
from tidegauge.report.envelopes import Campaigns, Fetched, FetchedSystem
from tidegauge.systems import registry
from tidegauge.systems.api import System

LINE_EVERY_S = 5.0
"""How often a line says how far a download is."""


def list_campaigns(out: Output) -> int:
    """Show the ready campaigns: what each measures, and about how long it takes here."""
    from tidegauge.campaign.plan.plan import plan_campaign
    from tidegauge.campaign.read.parse import parse_campaign
    from tidegauge.report.lists import ReadyCampaign, campaigns_list

    names = sorted(registry.all_systems())
    campaigns = []
    # Those in a folder of their own, which repeat published reports, come last.
    for name, path in sorted(find_ready_campaigns().items(), key=lambda item: (item[1].parent, item[0])):
        campaign = parse_campaign(path, {}, names)
        plan = plan_campaign(campaign)
        systems = tuple(dict.fromkeys(choice.name for _, choice in campaign.systems_at_points))
        campaigns.append(
            ReadyCampaign(name, campaign.description, str(path), systems, len(plan.trials), plan.seconds_expected)
        )
    content = plain_value(Campaigns(schema="tidegauge.campaigns/1", campaigns=campaigns))
    out.show(campaigns_list(campaigns, out.program), content)
    return EXIT_GOOD


@dataclass(frozen=True)
class WantedFilesOfSystem:
    """A version of a system whose files are wanted. `library`: or that of a method by which its clients log in."""

    system: System
    version: str
    library: str = ""

    @property
    def words(self) -> str:
        """System and version, for people."""
        return f"{self.library or self.system.title} {self.version}"

    def fetch(self, report: Report) -> Distribution:
        """Fetch the files. Raises `UserError`."""
        if self.library:
            return fetch_login_library(self.system.driver, self.system.login_libraries[self.library], report)
        distribution = self.system.provision(self.version, report)
        # Asked of the files once and kept, so that a plan can check a campaign's settings.
        self.system.server_settings(self.version)
        return distribution


def fetch_systems(names: Sequence[str], out: Output) -> int:
    """Fetch the files of systems into the cache; without names, of all at their default versions. Shows what is there.

    Raises `UserError` for a name that can't be, before anything is fetched; and if files could not be fetched, once all
    were tried.
    """
    wanted = [_parse_wanted(name) for name in names or registry.system_names_for_users(sorted(registry.all_systems()))]
    contents: list[FetchedSystem] = []
    failed: list[tuple[WantedFilesOfSystem, UserError]] = []
    for each in wanted:
        try:
            contents.append(_fetch_one(each, out))
        except UserError as error:
            if len(wanted) == 1:
                raise
            failed.append((each, error))
            out.alert(f"{each.words}: could not be fetched: {error.message} {error.hint}")
    if failed:
        missing = ", ".join(each.words for each, _ in failed)
        raise UserError(f"{len(failed)} of {plural(len(wanted), 'system')} could not be fetched: {missing}.")
    if out.as_json:
        out.show("", Fetched(schema="tidegauge.fetch/1", systems=contents))
    return EXIT_GOOD


def _fetch_one(wanted: WantedFilesOfSystem, out: Output) -> FetchedSystem:
    """Fetch the files of one version, and say how that went. Returns the same as plain data. Raises `UserError`."""
    lines, began_s = _FetchLines(out), time.monotonic()
    distribution = wanted.fetch(lines)
    size_bytes = sum(
        path.stat().st_size for path in distribution.directory.rglob("*") if path.is_file() and not path.is_symlink()
    )
    took = f"fetched in {duration(round(time.monotonic() - began_s, 1))}" if lines.has_fetched else "there already"
    out.say(f"{wanted.words}: {took}, {size(size_bytes, 3)} in {distribution.directory}")
    return FetchedSystem(
        system=distribution.system,
        version=distribution.version,
        directory=str(distribution.directory),
        size_bytes=size_bytes,
        source=distribution.source,
        fetched=lines.has_fetched,
    )


def _parse_wanted(name: str) -> WantedFilesOfSystem:
    """What `kafka`, `kafka@4.3.1` or a method that needs a library names. Raises `UserError`."""
    for each in registry.all_systems().values():
        if name in each.login_libraries:
            return WantedFilesOfSystem(each, each.login_libraries[name].version, name)
    system_name, at, version = name.partition("@")
    system = registry.system_named(system_name)
    if at and not registry.VERSION.fullmatch(version):
        raise UserError(
            f"'{name}': what follows the '@' must be a version, such as {system_name}@{system.default_version}.",
            "What is in a directory is there already and need not be fetched.",
        )
    return WantedFilesOfSystem(system, version or system.default_version)


class _FetchLines:
    """Hears what a system reports while its files are fetched, and prints a line now and then."""

    def __init__(self, out: Output) -> None:
        self._out = out
        self._said: dict[str, float] = {}
        self.has_fetched = False

    def __call__(self, text: str) -> None:
        self.has_fetched = True
        what = text.what if isinstance(text, Progress) else text
        now_s = time.monotonic()
        if now_s - self._said.get(what, -LINE_EVERY_S) >= LINE_EVERY_S:
            self._said[what] = now_s
            self._out.say(text)
