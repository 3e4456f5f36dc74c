"""A published report as typed data: where its figures come from, what they were measured with, what it claims.

A claim says how two figures relate, never what one of them is worth by itself: hosts differ, and with them every
absolute value. The one exception, `bound`, is told and never confirmed.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from tidegauge.config.fields import Fields, Size, member_of
from tidegauge.published.condition import Difference
from tidegauge.published.figures import BYTE_UNITS, BYTES_PER_S, FIGURES
from tidegauge.published.settings import OwnSettings, Settings, Test


def _check_figure(value: Any) -> str:
    if value not in FIGURES:
        raise ValueError(f"must be one of {', '.join(FIGURES)}")
    return str(value)


def _check_unit(value: Any) -> str:
    if value not in BYTE_UNITS:
        raise ValueError(f"must be one of {', '.join(BYTE_UNITS)}")
    return str(value)


FigureName = Annotated[str, BeforeValidator(_check_figure)]


class Place(Fields):
    """Where a figure was measured. A key that is not given says nothing.

    Attributes:
        form: of the durability level ("bypass"); of RabbitMQ the kind of queue.
        layout, variant: a value of one of the sweep's axes, as the campaign names it.
        load: number of the offered rate, 1 the lowest.
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

    def given(self) -> dict[str, Any]:
        """What it says, by the names of its attributes."""
        return {name: value for name in Place.model_fields if (value := getattr(self, name)) not in ("", None)}

    def within(self, around: Place) -> Place:
        """This place, with what only `around` says."""
        return Place(**{**around.given(), **self.given()})

    def words(self) -> str:
        """ "kafka, level 1, 100 partitions"."""
        return ", ".join(_shown(name, value) for name, value in self.given().items())


def _shown(name: str, value: object) -> str:
    """ "kafka", "level 1", "1 partition", "2,000 partitions", "batches of 10,240 bytes"."""
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


class Table(Fields):
    """A table or figure of a report. `common` holds for all rows."""

    id: str
    source: str
    figures: Annotated[list[FigureName], Field(min_length=1)]
    note: str = ""
    common: Place = Place()
    rows: Annotated[list[Row], Field(min_length=1)]

    @model_validator(mode="after")
    def _whole(self) -> Table:
        short = [row.words() for row in self.rows if len(row.values) != len(self.figures)]
        if short:
            raise ValueError(f"{self.id}: other than {len(self.figures)} values: {'; '.join(short)}")
        return self


class Shape(StrEnum):
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
        contradiction: where the report says something else itself; "" where it does not.
        unreproducible: why it can't be examined on a machine such as this; "" if it can.
    """

    id: str
    text: str
    source: str
    figure: FigureName
    test: str = ""
    table: list[str] | None = None
    common: Place = Place()
    for_each: dict[str, list[int | str]] = Field(default_factory=dict)
    at: list[Place] = Field(default_factory=list)
    contradiction: str = ""
    unreproducible: str = ""


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
    shape: Annotated[Shape, BeforeValidator(member_of(Shape))]
    within: float = 1.25
    at_least: float | None = None
    at_most: float | None = None


class Bound(_Claimed):
    """An absolute limit. It is shown beside what was measured here and never decided: hosts differ."""

    kind: Literal["bound"]
    of: Operand
    at_least: float | None = None
    at_most: float | None = None


Claim = Annotated[Ordering | Factor | Growth | Bound, Field(discriminator="kind")]


class Report(Fields):
    """One published report.

    Attributes:
        units: what its rates of bytes are in, by figure. `units_source` says what they are called there.
        settings, systems, own_settings: of all its tests, by system in the last two.
        differs: what is not as in the report and can't be computed from a plan, with the plans that it holds for.
    """

    report: str
    title: str
    versions: dict[str, str]
    hardware: str
    setup: list[str]
    units: dict[FigureName, Annotated[str, BeforeValidator(_check_unit)]] = Field(default_factory=dict)
    units_source: str = ""
    settings: Settings = Settings()
    systems: dict[str, Settings] = Field(default_factory=dict)
    own_settings: dict[str, OwnSettings] = Field(default_factory=dict)
    differs: list[Difference] = Field(default_factory=list)
    tests: list[Test] = Field(default_factory=list)
    tables: Annotated[list[Table], Field(min_length=1)]
    claims: Annotated[list[Claim], Field(min_length=1)]

    @model_validator(mode="after")
    def _sound(self) -> Report:
        tests = [test.id for test in self.tests]
        for ids in (tests, [table.id for table in self.tables], [claim.id for claim in self.claims]):
            twice = sorted({one for one in ids if ids.count(one) > 1})
            if twice:
                raise ValueError(f"given twice: {', '.join(twice)}")
        known = {table.id for table in self.tables}
        unknown = [name for claim in self.claims for name in claim.table or () if name not in known]
        if unknown:
            raise ValueError(f"no such table: {', '.join(unknown)}")
        unknown = [claim.test for claim in self.claims if claim.test and claim.test not in tests]
        if unknown:
            raise ValueError(f"no such test: {', '.join(unknown)}")
        published = {figure for table in self.tables for figure in table.figures if FIGURES[figure].unit == BYTES_PER_S}
        if missing := sorted(published - self.units.keys()):
            raise ValueError(f"'units' must say what these are in: {', '.join(missing)}")
        return self

    def unit_of(self, figure: str) -> tuple[str, float]:
        """The unit in which it gives a figure, and how many of the figure's own that is."""
        unit = self.units.get(figure, FIGURES[figure].unit)
        return unit, BYTE_UNITS.get(unit, 1)

    def settings_of(self, test: str, system: str) -> Settings:
        """What a system was run with in a test, as far as the report says."""
        one = next(one for one in self.tests if one.id == test)
        own = one.systems.get(system, Settings()).over(one.settings)
        return own.over(self.systems.get(system, Settings())).over(self.settings)
