"""The claims of published reports as data: figures, differences, conditions, and the settings they were measured with.

A claim says how two figures relate, never what one of them is worth by itself: hosts differ, and with them every
absolute value. The one exception, `bound`, is reported and never confirmed.

The kinds of figures that reports publish and runs measure have one name each here. Rates of bytes are bytes a second;
each report has its own unit for them, in which both are shown (`units`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from tidegauge.config.fields import AbsoluteRate, Duration, Fields, Size, member_of, one_of
from tidegauge.config.fields import Settings as OwnNames
from tidegauge.model.trial import MeasuredResult, TrialSpec, family
from tidegauge.model.use import Resource
from tidegauge.published.incident import Incident
from tidegauge.published.verdict import Grade
from tidegauge.statistics.figures import PERCENTILES, SUSTAINABLE, find_value_in_trial

MAX_THROUGHPUT = "max-throughput"
PEAK = "peak"
LATENCY = "latency"
ATTEST = "attest"
LOSING_CUTS = "losing-cuts"
MILLISECONDS = "ms"
BYTES_PER_S = "B/s"
BYTE_UNITS = {"MB/s": 10**6, "MiB/s": 1 << 20, "GB/s": 10**9, "GiB/s": 1 << 30}
"""Units of rates of bytes that a report may have."""


@dataclass(frozen=True)
class PublishedFigure:
    """One kind of figure.

    Attributes:
        experiment: whose trials, or findings, have it in a run; "" = none.
        name: of the figure in `statistics.figures`, which says how it is got.
        quantity, statistic: of one of several percentiles, what it is of and which it is: "publish latency", "p99".
        reported_as: what reports call it, where it is measured here in more than one way; "" = as `words`.
        stand_in: the figure that is taken where a run does not have this one.
        margin: factor by which single trials must differ before that counts as more than chance. Chosen by judgement.
    """

    words: str
    unit: str
    margin: float
    experiment: str = ""
    name: str = ""
    quantity: str = ""
    statistic: str = ""
    reported_as: str = ""
    stand_in: PublishedFigure | None = None

    def value_in_trial(self, result: MeasuredResult) -> float | None:
        """The figure of one trial; None where it has too few samples, or it takes several trials."""
        getter = find_value_in_trial(self.name)
        value = getter(result) if getter else None
        return value if value is None or self.experiment != PEAK else self.value_of_rate(value, result.spec)

    def value_of_rate(self, msgs_per_s: float, spec: TrialSpec) -> float:
        """A rate of messages in the figure's unit."""
        return msgs_per_s * spec.workload.payload.message_bytes if self.unit == BYTES_PER_S else msgs_per_s


RATE_MARGIN = 1.5
LATENCY_MARGIN = 3.0
"""Chosen by judgement (see docs/methodology.md). Times and read rates of a catch-up are rates in this sense."""


def _latency_figure(
    words: str, name: str, experiment: str = LATENCY, *, quantity: str = "", statistic: str = ""
) -> PublishedFigure:
    return PublishedFigure(words, MILLISECONDS, LATENCY_MARGIN, experiment, name, quantity, statistic)


def _percentile_figures(words: str, series: str) -> dict[str, PublishedFigure]:
    return {
        name: _latency_figure(f"{words}, {title}", f"{series}_ms_{name}", quantity=words, statistic=title)
        for name, title, _ in PERCENTILES
    }


def _throughput_figure(unit: str) -> PublishedFigure:
    """The highest rate: the sustainable one, and where none was searched for the one of a closed loop.

    The reports offered more than came through, so a closed loop is as near to what they did.
    """
    peak = PublishedFigure("peak rate", unit, RATE_MARGIN, PEAK, "msgs_per_s")
    words = "maximum throughput"
    return PublishedFigure(
        "sustainable rate", unit, RATE_MARGIN, MAX_THROUGHPUT, SUSTAINABLE, reported_as=words, stand_in=peak
    )


FIGURES: dict[str, PublishedFigure] = {
    "throughput": _throughput_figure(BYTES_PER_S),
    "throughput-messages": _throughput_figure("msg/s"),
    **{f"publish-{name}": figure for name, figure in _percentile_figures("publish latency", "response").items()},
    **{
        f"end-to-end-{name}": figure for name, figure in _percentile_figures("end-to-end latency", "end_to_end").items()
    },
    "maximum-publish-mean": _latency_figure(
        "publish latency at the sustainable rate, mean", "response_ms_mean", MAX_THROUGHPUT
    ),
    "maximum-publish-p99": _latency_figure(
        "publish latency at the sustainable rate, p99", "response_ms_p99", MAX_THROUGHPUT
    ),
    "maximum-end-to-end-mean": _latency_figure(
        "end-to-end latency at the sustainable rate, mean", "end_to_end_ms_mean", MAX_THROUGHPUT
    ),
    "peak-read-rate": PublishedFigure(
        "catch-up reads, peak", BYTES_PER_S, RATE_MARGIN, "catch-up", "peak_read_bytes_per_s"
    ),
    "chase-time": PublishedFigure("time to catch up", "s", RATE_MARGIN, "catch-up", "chase_s"),
    "publish-p99-before": _latency_figure(
        "publish latency before catching up, p99", "response_ms_p99_before", "catch-up"
    ),
    "publish-p99-during": _latency_figure(
        "publish latency while catching up, p99", "response_ms_p99_during", "catch-up"
    ),
    "mixed-publish-p99-before": _latency_figure(
        "publish latency before catch-up readers begin, p99", "response_ms_p99_before", "mixed"
    ),
    "mixed-publish-p99": _latency_figure(
        "publish latency beside catch-up readers, p99", "response_ms_p99_during", "mixed"
    ),
    LOSING_CUTS: PublishedFigure("cuts that lost acknowledged messages", "cuts", 1.0, ATTEST),
}


@dataclass(frozen=True)
class ServerSetup:
    """How a campaign sets up the servers of a system.

    Attributes:
        memory_bytes: heap and direct memory of each process, by what the process is ("broker"); below 1 = not decided
            yet, or none.
        settings, producer, consumer: the system's own settings that the campaign or Tidegauge gives.
        data_disks: directories that a node keeps its data in.
        own_disks: whether no other node keeps data in any of them.
        journal_apart: whether a system that keeps a journal apart has it in another directory than its data.
        has_keeper: whether there is a process that belongs to no node (a ZooKeeper).
    """

    memory_bytes: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    producer: Mapping[str, str] = field(default_factory=dict)
    consumer: Mapping[str, str] = field(default_factory=dict)
    data_disks: int = 1
    own_disks: bool = False
    journal_apart: bool = False
    has_keeper: bool = False


@dataclass(frozen=True)
class Placement:
    """On which hosts servers and load generators are.

    Attributes:
        one_machine: all on the one on which `run` is called. What follows is then of no meaning.
        load_hosts: hosts of load generators.
        nodes_on_a_host: how many nodes a host has at most; 0 = others run the servers.
        keeper_apart: what belongs to no node has a host of its own.
    """

    one_machine: bool = True
    load_hosts: int = 1
    nodes_on_a_host: int = 0
    keeper_apart: bool = False


@dataclass(frozen=True)
class Planned:
    """What will be measured, and on what.

    Attributes:
        servers: at each point of a sweep, by the name of a system ("kafka"); of those that are started here.
        hosts: on which all of it is.
        figures: names of the figures that are examined.
    """

    trials: Sequence[TrialSpec]
    servers: Mapping[str, Sequence[ServerSetup]]
    hosts: Placement = Placement()
    figures: Sequence[str] = ()

    @property
    def experiments(self) -> frozenset[str]:
        """Experiments whose figures are examined; others only find the rates that these take shares of."""
        planned = {trial.experiment for trial in self.trials}
        figures = [FIGURES[name] for name in self.figures]
        stand_ins = [figure.stand_in for figure in figures if figure.experiment not in planned]
        return frozenset(figure.experiment for figure in (*figures, *stand_ins) if figure is not None) & planned


class Condition(Fields):
    """Which plans a sentence holds for. A key that is not given asks for nothing.

    Attributes:
        system, level, form, without_form, variant: a trial must be there that has all of these: one of the levels, one
            of the forms, none of those that it must be without, a value of one of the sweep's axes.
        examines: a figure of this experiment is examined.
        started: servers are started here; of `system` if one is given.
        data_disks_max, journal_apart: the same servers are on so many disks at most, have their journal apart or not.
        one_machine: servers and load generators are all on one, or are not.
        keeper: the same servers have a process that belongs to no node, or have none.
    """

    system: str = ""
    level: list[int] = Field(default_factory=list)
    form: list[str] = Field(default_factory=list)
    without_form: list[str] = Field(default_factory=list)
    variant: str = ""
    examines: str = ""
    started: bool = False
    data_disks_max: int | None = None
    journal_apart: bool | None = None
    one_machine: bool | None = None
    keeper: bool | None = None

    def holds(self, planned: Planned) -> bool:
        """Whether everything that it asks for is in a plan."""
        return (
            self.examines in ("", *planned.experiments)
            and self.one_machine in (None, planned.hosts.one_machine)
            and any(map(self._fits_trial, planned.trials))
            and self._fits_servers(planned)
        )

    def _fits_trial(self, trial: TrialSpec) -> bool:
        return (
            self.system in ("", family(trial.system))
            and (not self.level or trial.choice.level in self.level)
            and (not self.form or trial.choice.form in self.form)
            and trial.choice.form not in self.without_form
            and (not self.variant or self.variant in trial.point.values())
        )

    def _fits_servers(self, planned: Planned) -> bool:
        if not self.started and (self.data_disks_max, self.journal_apart, self.keeper) == (None, None, None):
            return True
        candidates: Sequence[ServerSetup] = [
            servers for name, points in planned.servers.items() if self.system in ("", name) for servers in points
        ]
        return any(
            (self.data_disks_max is None or servers.data_disks <= self.data_disks_max)
            and self.journal_apart in (None, servers.journal_apart)
            and self.keeper in (None, servers.has_keeper)
            for servers in candidates
        )


Words = Annotated[str, AfterValidator(lambda text: " ".join(text.split()))]
"""Text without the line breaks of its file."""


class StatedDifference(Fields):
    """A sentence, and where it holds: always, without a condition."""

    text: Words
    where: Condition = Condition()


def _as_list(value: Any) -> Any:
    """A list of one value, or that of a sweep."""
    return value if isinstance(value, list) else [value]


def _list_field() -> Any:
    return Field(default_factory=list)


Counts = Annotated[list[int], BeforeValidator(_as_list)]
Names = Annotated[list[str], BeforeValidator(_as_list)]
Sizes = Annotated[list[Size], BeforeValidator(_as_list)]
Rates = Annotated[list[AbsoluteRate], BeforeValidator(_as_list)]
Durations = Annotated[list[Duration], BeforeValidator(_as_list)]


class SettingsOfTest(Fields):
    """Settings of a test: one value, or several where the test has a trial for each; none where it is not known.

    Attributes:
        subscriptions: that read all the time; those that read late where all do.
        backlog: bytes of messages that wait for a late subscription when it begins.
        heap, direct_memory: of the JVM of each server process: of a system that has several, each has as much.
        measure: length of a trial in seconds; not of those that end with a backlog.
    """

    nodes: Counts = _list_field()
    level: Counts = _list_field()
    form: Names = _list_field()
    message_size: Sizes = _list_field()
    partitions: Counts = _list_field()
    producers: Counts = _list_field()
    consumers: Counts = _list_field()
    subscriptions: Counts = _list_field()
    batch_size: Sizes = _list_field()
    batch_delay: Durations = _list_field()
    rate: Rates = _list_field()
    backlog: Sizes = _list_field()
    measure: Durations = _list_field()
    heap: Sizes = _list_field()
    direct_memory: Sizes = _list_field()


class OwnSettings(Fields):
    """A system's own settings of servers, producers and consumers, as the report gives them."""

    server: OwnNames = Field(default_factory=dict)
    producer: OwnNames = Field(default_factory=dict)
    consumer: OwnNames = Field(default_factory=dict)


class Test(Fields):
    """A test of a report. `systems`: what was different for one of them."""

    __test__ = False  # It is none of pytest's.

    id: str
    settings: SettingsOfTest = SettingsOfTest()
    systems: dict[str, SettingsOfTest] = Field(default_factory=dict)


FigureName = Annotated[str, one_of(list(FIGURES))]


class Place(Fields):
    """Where a figure was measured. A key that is not given says nothing.

    Attributes:
        form: of the durability level ("bypass"); of RabbitMQ the kind of queue.
        layout, variant: a value of one of the sweep's axes, as the campaign names it.
        load: number of the offered rate, 1 the lowest.
        incident: what strikes the nodes, for claims on guarantees.
    """

    system: str = ""
    form: str = ""
    level: int | None = None
    nodes: int | None = None
    layout: str = ""
    variant: str = ""
    partitions: int | None = None
    subscriptions: int | None = None
    producers: int | None = None
    consumers: int | None = None
    batch_size: Size | None = None
    load: int | None = None
    incident: Annotated[Incident, member_of(Incident)] | None = None

    def given(self) -> dict[str, Any]:
        """What it says, by the names of its attributes."""
        return {name: value for name in Place.model_fields if (value := getattr(self, name)) not in ("", None)}

    def within(self, around: Place) -> Self:
        """This place, with what only `around` says."""
        return self.model_copy(update={**around.given(), **self.given()})

    def words(self) -> str:
        """ "kafka, level 1, 100 partitions"."""
        return ", ".join(_value_in_words(name, value) for name, value in self.given().items())


def _value_in_words(name: str, value: object) -> str:
    """ "kafka", "level 1", "1 partition", "2,000 partitions", "batches of 10,240 bytes"."""
    if isinstance(value, Incident):
        return value.words
    if not isinstance(value, int):
        return str(value)
    if name in ("level", "load"):
        return f"{name} {value}"
    if name == "batch_size":
        return f"batches of {value:,} bytes"
    return f"{value:,} {name if value != 1 else name.removesuffix('s')}"


class Operand(Place):
    """A place that a claim compares. `theirs`: what was different in the report, whose figure is shown beside."""

    theirs: Place | None = None


class Row(Place):
    """Published figures of one place, in the order of the table's `figures`. `note`: what else was particular there."""

    values: list[float]
    note: str = ""


class PublishedTable(Fields):
    """A table or figure of a report. `common` holds for all rows."""

    id: str
    source: str
    figures: Annotated[list[FigureName], Field(min_length=1)]
    note: str = ""
    common: Place = Place()
    rows: Annotated[list[Row], Field(min_length=1)]

    @model_validator(mode="after")
    def _check_rows(self) -> PublishedTable:
        if short := [row.words() for row in self.rows if len(row.values) != len(self.figures)]:
            raise ValueError(f"{self.id}: other than {len(self.figures)} values: {'; '.join(short)}")
        return self


class GrowthShape(StrEnum):
    """How a figure goes from the first point of a claim to the last."""

    GROWS = "grows"
    FALLS = "falls"
    FLAT = "flat"


class _Claimed(Fields):
    """What every kind of claim has.

    Attributes:
        text: the claim in a sentence.
        source: which table, figure or passage of the report makes it.
        test: id of the report's test that it speaks of; "" = not said, so that settings are not compared.
        figure: what is compared.
        table: ids of the tables that have the published values; None = any, [] = the report gave a drawing only.
        common: holds for all its places.
        for_each: the claim is made for each of these values, and holds only if it holds for all.
        at: the same for each of these places. A system without forms is not asked for the `form` of a place.
        limit: the resource by which the report explains its rates; None where it gives no such reason.
        contradiction: where the report says something else itself; "" where it does not.
        unreproducible: why it can't be examined on a machine such as this; "" if it can.
        grade: what of such claims is examined, where they claim no size.
    """

    grade: ClassVar[Grade] = Grade.ORDERING
    id: str
    text: Words
    source: str
    figure: FigureName
    test: str = ""
    table: list[str] | None = None
    common: Place = Place()
    for_each: dict[str, list[int | str]] = Field(default_factory=dict)
    at: list[Place] = Field(default_factory=list)
    limit: Annotated[Resource, member_of(Resource)] | None = None
    contradiction: Words = ""
    unreproducible: Words = ""


class Ordering(_Claimed):
    """Each place has a higher figure than the next."""

    kind: Literal["ordering"]
    from_highest: Annotated[list[Operand], Field(min_length=2)]


class Factor(_Claimed):
    """The figure at `a` is so many times the one at `b`, which may be another figure (`b_figure`).

    Without `at_least` and `at_most` it is higher, as many times as by the published figures, if there are both. They
    are for what the report says in words: "twice or more", "3 to 5 times", "about the same" (1 between them).
    """

    kind: Literal["factor"]
    a: Operand
    b: Operand
    b_figure: FigureName | None = None
    at_least: float | None = None
    at_most: float | None = None


class Growth(_Claimed):
    """How the figure changes over the values of one key.

    Attributes:
        over: the key and its values, the first of which is what the others are compared with.
        within: of `flat`: no point is more than so many times higher or lower than the first.
        at_least, at_most: of `grows` and `falls`: the last point over the first, where the report says it in words;
            without them as by the published figures.
    """

    kind: Literal["growth"]
    of: Operand
    over: dict[str, Annotated[list[int], Field(min_length=2)]] = Field(min_length=1, max_length=1)
    shape: Annotated[GrowthShape, member_of(GrowthShape)]
    within: float = 1.25
    at_least: float | None = None
    at_most: float | None = None


class Bound(_Claimed):
    """An absolute limit. It is shown beside what was measured here and never decided: hosts differ."""

    grade: ClassVar[Grade] = Grade.ABSOLUTE
    kind: Literal["bound"]
    of: Operand
    at_least: float | None = None
    at_most: float | None = None


class LimitedRate(_Claimed):
    """One resource (`limit`) is what limits the rate at a place: its disks, its CPUs."""

    grade: ClassVar[Grade] = Grade.LIMIT
    kind: Literal["limited"]
    of: Operand
    limit: Annotated[Resource, member_of(Resource)]


class _Guaranteed(_Claimed):
    """What claims on guarantees have: the figure, and an `incident` of each place."""

    grade: ClassVar[Grade] = Grade.GUARANTEE
    figure: Literal["losing-cuts"] = "losing-cuts"

    def check_incident(self, *operands: Operand) -> Self:
        """The claim itself. Raises `ValueError` if one of its places has no incident."""
        around = [place.within(self.common) for place in self.at or [Place()]]
        given = all(operand.within(place).incident for operand in operands for place in around)
        if "incident" not in self.for_each and not given:
            raise ValueError(f"must say at which 'incident': {', '.join(incident.value for incident in Incident)}")
        return self


class Guarantee(_Guaranteed):
    """What was acknowledged is still there after an incident (`kept`), or may be gone."""

    kind: Literal["guarantee"]
    of: Operand
    kept: bool

    @model_validator(mode="after")
    def _check_place(self) -> Self:
        return self.check_incident(self.of)


class SameGuarantee(_Guaranteed):
    """An incident spares what was acknowledged at both places, or at neither."""

    kind: Literal["same-guarantee"]
    a: Operand
    b: Operand

    @model_validator(mode="after")
    def _check_places(self) -> Self:
        return self.check_incident(self.a, self.b)


Claim = Annotated[
    Ordering | Factor | Growth | Bound | LimitedRate | Guarantee | SameGuarantee,
    Field(discriminator="kind"),
]


class FigureOfReport(Fields):
    """A figure or table of a report, or several that show the same, as its page has them.

    Attributes:
        name: what the report calls it: "Figures 6 and 7".
        title: what it shows.
        tables, claims: ids of those that belong to it.
        campaigns: which measure it, without the report's name, the best first.
        pictures: kinds of pictures of these campaigns' runs that show what the report drew, as their ids end.
    """

    name: str
    title: Words
    tables: list[str] = Field(default_factory=list)
    claims: list[str] = Field(default_factory=list)
    campaigns: list[str] = Field(default_factory=list)
    pictures: list[str] = Field(default_factory=list)


class SectionOfReport(Fields):
    """A part of a report under a heading of its own."""

    title: str
    figures: Annotated[list[FigureOfReport], Field(min_length=1)]


class PublishedReport(Fields):
    """One published report.

    Attributes:
        load_hosts: how many its load came from; 0 = several, it does not say how many.
        units: what its rates of bytes are in, by figure. `units_source` says what they are called there.
        settings, systems, own_settings: of all its tests, by system in the last two.
        differs: what is not as in the report and can't be computed from a plan, with the plans that it holds for.
        sections: its own order, in which each table and each claim has one place.
    """

    report: str
    title: str
    versions: dict[str, str]
    hardware: Words
    load_hosts: int = 0
    setup: list[Words]
    units: dict[FigureName, Annotated[str, one_of(list(BYTE_UNITS))]] = Field(default_factory=dict)
    units_source: Words = ""
    settings: SettingsOfTest = SettingsOfTest()
    systems: dict[str, SettingsOfTest] = Field(default_factory=dict)
    own_settings: dict[str, OwnSettings] = Field(default_factory=dict)
    differs: list[StatedDifference] = Field(default_factory=list)
    tests: list[Test] = Field(default_factory=list)
    sections: list[SectionOfReport] = Field(default_factory=list)
    tables: Annotated[list[PublishedTable], Field(min_length=1)]
    claims: Annotated[list[Claim], Field(min_length=1)]

    @model_validator(mode="after")
    def _check_names(self) -> PublishedReport:
        tests = [test.id for test in self.tests]
        for ids in (tests, [table.id for table in self.tables], [claim.id for claim in self.claims]):
            if twice := sorted({test_id for test_id in ids if ids.count(test_id) > 1}):
                raise ValueError(f"given twice: {', '.join(twice)}")
        table_ids = {table.id for table in self.tables}
        unknown = [name for claim in self.claims for name in claim.table or () if name not in table_ids]
        if unknown:
            raise ValueError(f"no such table: {', '.join(unknown)}")
        if unknown := [claim.test for claim in self.claims if claim.test and claim.test not in tests]:
            raise ValueError(f"no such test: {', '.join(unknown)}")
        published = {figure for table in self.tables for figure in table.figures if FIGURES[figure].unit == BYTES_PER_S}
        if missing := sorted(published - self.units.keys()):
            raise ValueError(f"'units' must say what these are in: {', '.join(missing)}")
        return self

    @model_validator(mode="after")
    def _check_sections(self) -> PublishedReport:
        if not self.sections:
            return self
        figures = self.figures
        for kind, ids, placed in (
            ("table", [table.id for table in self.tables], [name for figure in figures for name in figure.tables]),
            ("claim", [claim.id for claim in self.claims], [name for figure in figures for name in figure.claims]),
        ):
            if wrong := sorted(name for name in {*ids, *placed} if placed.count(name) != 1 or name not in ids):
                raise ValueError(f"each {kind} has one place in 'sections', other than {', '.join(wrong)}")
        return self

    @property
    def figures(self) -> list[FigureOfReport]:
        """All figures and tables in the report's order."""
        return [figure for section in self.sections for figure in section.figures]

    def unit_of(self, figure: str) -> tuple[str, float]:
        """The unit in which it gives a figure, and how many of the figure's own that is."""
        unit = self.units.get(figure, FIGURES[figure].unit)
        return unit, BYTE_UNITS.get(unit, 1)

    def stated(self, test: str, system: str, setting: str) -> list[int | float | str]:
        """The values of a setting with which a system was run in a test; [] where the report doesn't say."""
        described = next(candidate for candidate in self.tests if candidate.id == test)
        levels = (described.systems.get(system), described.settings, self.systems.get(system), self.settings)
        return next((values for level in levels if level and (values := getattr(level, setting))), [])
