"""A campaign file, read: its keys become a `Campaign`, and every mistake a message with its line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

from pydantic import BeforeValidator, Discriminator, Field, RootModel, Tag

from tidegauge.campaign.model import WORKER_HEAP, Campaign, ExperimentChoice, Point, SystemChoice, WorkerChoice
from tidegauge.campaign.read.attach import KEY as ATTACH
from tidegauge.campaign.read.attach import check_secrets, parse_attached_system, refuse_swept_servers, to_correct
from tidegauge.campaign.read.faults import KEY as FAULTS
from tidegauge.campaign.read.faults import parse_faults
from tidegauge.campaign.read.overriding import (
    DirectMemory,
    Heap,
    apply_overrides,
    in_mb,
    systems_with_campaign_level,
    with_memory,
)
from tidegauge.campaign.read.published import apply_scale, other_scales, parse_published
from tidegauge.campaign.read.sweep import Assignment, as_mapping, read_matrix, read_rates_at, with_values
from tidegauge.campaign.read.variants import REPEAT, TWO_VARIANTS, describe_variants, read_variants
from tidegauge.config.fields import (
    Duration,
    Fields,
    Settings,
    Share,
    Size,
    duration_between,
    mapping_such_as,
    share_between,
    size_between,
    text_matching,
)
from tidegauge.config.jvm_options import problems_of_jvm_options
from tidegauge.config.source import (
    KeyPath,
    Origin,
    Source,
    keys_of,
    raise_problems,
    read_source,
    unknown_name_complaint,
    validate,
)
from tidegauge.config.workload import Count, parse_workload, parse_workload_file
from tidegauge.durability import LEVELS, NODES_FOR_REPLICATION
from tidegauge.errors import UserError, did_you_mean
from tidegauge.experiments.procedure import ServersChoice, experiments
from tidegauge.fairness import Case
from tidegauge.fleet.file import FleetFile, read_fleet_file
from tidegauge.model.events import Note
from tidegauge.model.level import AS_FOUND, LevelChoice
from tidegauge.model.trial import ServerReuse
from tidegauge.model.variant import SAME_WITHIN, SameWithin, Variant, parse_same_within
from tidegauge.model.workload import WORKERS_MAX, Workload
from tidegauge.places import is_file
from tidegauge.systems.api import expected_level
from tidegauge.systems.client_settings import CONSUMER, PRODUCER
from tidegauge.systems.registry import VERSION, system_names_for_users, unknown_system_complaint
from tidegauge.systems.registry import system_named as find_system
from tidegauge.systems.server_settings import setting_problems
from tidegauge.thresholds import ABORT_EXAMPLE, EXAMPLES, KnownNames, parse_abort_rule, parse_threshold
from tidegauge.usage import Price, parse_price

THRESHOLDS = "thresholds"
TOPIC_SETTINGS, REPLICATION_FACTOR = "topic-settings", "replication-factor"
ABORT_ON = "abort-on"


def read_thresholds(source: Source, points: Sequence[Point]) -> tuple[str, ...]:
    """The campaign's thresholds in order. Problems are noted in `source`.

    Args:
        points: what the campaign has, at every point of its sweep; none if it could not be read, and then the names
            of experiments and systems are not checked.
    """
    return _read_conditions(source, THRESHOLDS, points, lambda text, names: parse_threshold(text, names).text)


def read_abort_rules(source: Source, points: Sequence[Point]) -> tuple[str, ...]:
    """What aborts a trial of the campaign, as `read_thresholds` reads its thresholds."""
    return _read_conditions(source, ABORT_ON, points, lambda text, names: parse_abort_rule(text, names).text)


def _read_conditions(
    source: Source, key: str, points: Sequence[Point], parse: Callable[[object, KnownNames | None], str]
) -> tuple[str, ...]:
    listed = source.data.get(key, [])
    if not isinstance(listed, list):
        source.complain((key,), f"must be a list of conditions, {EXAMPLES if key == THRESHOLDS else ABORT_EXAMPLE}")
        return ()
    names = names_for_thresholds(points) if points else None
    conditions = []
    for index, text in enumerate(listed):
        try:
            conditions.append(parse(text, names))
        except ValueError as error:
            source.complain((key, index), str(error))
    return tuple(dict.fromkeys(conditions))


def names_for_thresholds(points: Sequence[Point]) -> KnownNames:
    """What thresholds on a campaign may speak of, which has these points."""
    campaigns = [point.campaign for point in points]
    return KnownNames(
        experiments=list(dict.fromkeys(choice.name for campaign in campaigns for choice in campaign.experiments)),
        systems=list(dict.fromkeys(_system_label(system) for campaign in campaigns for system in campaign.systems)),
        point={axis: list(dict.fromkeys(point.values[axis] for point in points)) for axis in points[0].values},
    )


def _system_label(system: SystemChoice) -> str:
    version = system.attach.label if system.attach else system.version
    return f"{system.name}@{version}" if version else system.name


_MIB = 1 << 20
LEVEL_BY_DEFAULT = 3
"""The safest that a single node can give."""
AS_FOUND_WORD = "as-found"
"""What stands for the level that a cluster of others has."""
LISTED_MAX = 50
"""Systems, and experiments, of a campaign."""
RETRIES_MAX = 10
COPIES_MAX = 100
"""What `replication-factor` may be."""


_Name = text_matching(
    r"[a-z0-9][a-z0-9-]{0,62}",
    "must be made of lower-case letters, digits and hyphens, at most 63, since it names directories",
)


def _parse_level_word(value: object) -> LevelChoice:
    """The level that `3` or `as-found` states. Raises `ValueError`, in words for the user."""
    if value == AS_FOUND_WORD:
        return AS_FOUND
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= len(LEVELS):
        near = did_you_mean(value, [AS_FOUND_WORD]) if isinstance(value, str) else ""
        raise ValueError(f"must be a durability level from 1 to 4, or '{AS_FOUND_WORD}' on attached clusters{near}")
    return LevelChoice(value)


def _check_version(version: object) -> object:
    if isinstance(version, int | float) and not isinstance(version, bool):
        raise ValueError("put the version in quotes, else YAML takes it for a number")
    if isinstance(version, str) and version and "/" not in version and not VERSION.fullmatch(version):
        raise ValueError("must be a version such as 4.3.1, or the path of a directory (with a slash)")
    return version


class _LevelFields(Fields):
    level: Annotated[LevelChoice, BeforeValidator(_parse_level_word)] = LevelChoice(LEVEL_BY_DEFAULT)
    form: str = ""

    @property
    def choice(self) -> LevelChoice:
        """The level in the form that was chosen."""
        return replace(self.level, form=self.form)


def _level_as_mapping(value: object) -> object:
    """A level and form as a mapping; `3` or `as-found` says the level alone."""
    if isinstance(value, dict):
        return value
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise ValueError(f"must be a level from 1 to 4, '{AS_FOUND_WORD}', or a mapping of 'level' and 'form'")
    _parse_level_word(value)  # A mistake is one of this value, not of a key that it does not have.
    return {"level": value}


_Level = Annotated[_LevelFields | None, BeforeValidator(_level_as_mapping)]


class _WorkerFields(Fields):
    heap: Annotated[Size, size_between(*WORKER_HEAP)] = 0
    direct_memory: Annotated[Size, size_between("16MiB", "1024GiB")] = 0
    precision: Annotated[Share, share_between("0%", "100%")] = WorkerChoice.precision
    grain: Annotated[Duration, duration_between("0us", "500us")] | None = None
    count: Annotated[int, Field(ge=1, le=WORKERS_MAX)] = 1
    jvm: Settings = Field(default_factory=dict)


class _CampaignFields(Fields):
    """The keys at the top of a campaign. Those that may be written in several ways are checked one by one below."""

    name: Annotated[str, _Name]
    description: str = ""
    systems: list[object] = Field(min_length=1, max_length=LISTED_MAX)
    durability: _Level = None
    nodes: Annotated[int, Field(ge=1, le=100)] = 1
    workload: object = Field(default_factory=dict)
    experiments: list[object] = Field(min_length=1, max_length=LISTED_MAX)
    repeat: Annotated[int, Field(ge=1, le=1000)] = 1
    retry: Annotated[int, Field(ge=0, le=RETRIES_MAX)] = 0
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = 1
    data_directory: str = ""
    data_directories: list[Annotated[str, Field(min_length=1)]] = Field(default_factory=list)
    journal_directories: list[Annotated[str, Field(min_length=1)]] = Field(default_factory=list)
    worker: Annotated[_WorkerFields, mapping_such_as("{heap: 256MiB, precision: 5%}")] = _WorkerFields()
    heap: Heap | None = None
    direct_memory: DirectMemory | None = None
    published: object = None
    rates_at: object = None
    sweep: object = None
    variants: object = None
    same_within: Annotated[SameWithin, BeforeValidator(parse_same_within)] = SAME_WITHIN
    skip_impossible: bool = False
    deployment: ServersChoice = ServerReuse.FRESH
    thresholds: object = Field(default_factory=list)
    abort_on: object = Field(default_factory=list)
    fleet: str = ""
    price_per_host_hour: Annotated[Price | None, BeforeValidator(parse_price)] = None


_SAME = {"name", "nodes", "seed", "data_directory", "skip_impossible", "deployment", "retry", "fleet"}
"""What a campaign has as it is written."""


class _SystemFields(Fields):
    """The keys of every system."""

    name: str
    version: Annotated[str, BeforeValidator(_check_version)] = ""
    producer: Settings = Field(default_factory=dict)
    consumer: Settings = Field(default_factory=dict)
    durability: _Level | None = None
    optional: bool = False
    partitions: Count | None = None
    replication_factor: Annotated[int, Field(ge=1, le=COPIES_MAX)] | None = None
    topic_settings: Settings = Field(default_factory=dict)


class _StartedFields(_SystemFields):
    """The keys of a system whose servers are started here."""

    settings: Settings = Field(default_factory=dict)
    heap: Heap | None = None
    direct_memory: DirectMemory | None = None
    shape: Settings = Field(default_factory=dict)
    jvm: Settings = Field(default_factory=dict)


class _AttachedFields(_SystemFields):
    """The keys of a system whose servers others run."""

    other_keys_refused = "has no effect on an attached cluster, whose servers others run: remove it"
    attach: object


class _StartedOrAttached(
    RootModel[
        Annotated[
            Annotated[_StartedFields, Tag("started")] | Annotated[_AttachedFields, Tag("attached")],
            Discriminator(lambda item: "attached" if ATTACH in item else "started"),
        ]
    ]
):
    """A system, by whether it has the key `attach`."""


def parse_campaign(
    path: Path,
    overrides: Mapping[str, object],
    system_names: Sequence[str],
    text: str | None = None,
    *,
    options: Mapping[KeyPath, str] = MappingProxyType({}),
    notes: Sequence[Note] = (),
) -> Campaign:
    """Read and check a campaign, at every point of its sweep if it has one.

    Args:
        path: the YAML file.
        overrides: values from the command line that replace the file's, by its keys: "durability": 4 or
            {"level": 4, "form": "bypass"}, "systems": ["kafka@4.3.1"], "repeat": 3, "data-directory": "/mnt/disk".
        system_names: the systems that Tidegauge knows.
        text: taken for the file's content, if given; what it names is sought beside `path` all the same.
        options: which words of the command line the file's values come from, where it was made of these.
        notes: what is to be said of the campaign beside what follows from it.

    Raises:
        UserError: with every problem, each on a line of its own.
    """
    source = read_source(path, "campaign", text)
    source.has_lines = not options
    for at, option in options.items():
        source.placed[at] = Origin(path, 0, "", None, option)
    listed = systems_with_campaign_level(source, system_names)
    apply_scale(source, overrides)
    others, notes_on_options = apply_overrides(source, overrides, system_names)
    variants = read_variants(source)
    described = describe_variants(variants, source)
    reading = _Reading(overrides, system_names, [source, *others], (*notes, *notes_on_options), listed, described)
    assignments = read_matrix(source, variants)
    refuse_swept_servers(source, assignments)
    rates_at = read_rates_at(source, assignments)
    where = f"{path}:{source.line_of(('sweep' if 'sweep' in source.data else 'variants',))}"
    points = []
    for assignment in assignments or (Assignment({}, {}),):
        variant = with_values(source, assignment)
        campaign = reading.campaign(variant)
        source.problems += variant.problems
        if campaign is not None:
            points.append(Point(assignment.values, campaign, where))
    thresholds, abort_on = read_thresholds(source, points), read_abort_rules(source, points)
    raise_problems(reading.sources, "command" if options else to_correct(reading.sources, overrides))
    if not points:
        raise UserError(f"{path}: the campaign could not be read.", "Compare it with campaigns/quick.yaml.")
    # At each point, since any of them may come to be the first that can be measured.
    points = [
        replace(point, campaign=replace(point.campaign, thresholds=thresholds, abort_on=abort_on, rates_at=rates_at))
        for point in points
    ]
    return replace(points[0].campaign, points=tuple(points)) if assignments else points[0].campaign


def check_other_scales(campaign: Campaign, system_names: Sequence[str]) -> None:
    """Raise `UserError` for what is wrong at the scales of a published campaign that this run does not ask for."""
    if campaign.published is not None:
        for scale in other_scales(read_source(campaign.source_path, "campaign"), campaign.published.scale):
            parse_campaign(campaign.source_path, {"scale": scale}, system_names)


@dataclass
class _Reading:
    """Reads a campaign, once or once for each point. `sources` are all whose problems count."""

    overrides: Mapping[str, object]
    system_names: Sequence[str]
    sources: list[Source]
    notes: tuple[Note, ...]
    listed: tuple[tuple[str, str], ...]
    variants: tuple[Variant, ...] = ()
    workloads: dict[Path, Source] = field(default_factory=dict)
    fleets: dict[str, FleetFile] = field(default_factory=dict)

    def new(self, source: Source) -> Source:
        """The source, whose problems count from now on."""
        self.sources.append(source)
        return source

    def campaign(self, source: Source) -> Campaign | None:
        """The campaign, or None after noting what is wrong."""
        top = validate(_CampaignFields, source.data, source, ())
        listed = enumerate(_items_of_key(source, "systems"))
        systems = [_parse_system(item, source, ("systems", i), self.system_names, top) for i, item in listed]
        durability = _campaign_level(systems, top) if top else None
        chosen = _parse_experiments(source)
        workload = self._read_workload(source)
        fleet = self._read_fleet(top.fleet) if top and top.fleet else FleetFile()
        worker = _parse_worker(top.worker, source, fleet) if top else None
        published = parse_published(source, str(self.overrides.get("scale", "")))
        _check_duplicates(systems, source)
        if durability is not None and top is not None:
            _check_levels(systems, durability, source)
            _check_topics(systems, durability, top.nodes, source)
            _check_clients(systems, durability, workload or Workload(), source)
        sound = _with_memory_of_machine(
            [system for system in systems if system is not None], source, top.nodes if top else 1
        )
        if source.data.get("data-directory") and source.data.get("data-directories"):
            source.complain(("data-directories",), "can't be given beside 'data-directory': keep one of the two")
        if systems and all(system is not None and system.attach for system in systems):
            for key in ("heap", "direct-memory"):
                if key in source.data:
                    source.complain(
                        (key,), "has no effect on attached clusters, whose servers others run: leave it out"
                    )
        if top is None or durability is None or workload is None or worker is None:
            return None
        return Campaign(
            **top.model_dump(include=_SAME),
            description=top.description.strip(),
            systems=sound,
            durability=durability,
            workload=workload,
            experiments=tuple(chosen),
            source_path=source.path,
            overrides=dict(self.overrides),
            worker=worker,
            data_directories=tuple(top.data_directories),
            journal_directories=tuple(top.journal_directories),
            published=published,
            price=top.price_per_host_hour,
            notes=self.notes,
            listed=self.listed,
            fleet_file=fleet,
            variants=self.variants,
            same_within=top.same_within,
            locate=source.where,
            repeat=REPEAT if self.variants and "repeat" not in top.model_fields_set else top.repeat,
        )

    def _read_fleet(self, path: str) -> FleetFile:
        """What a fleet file says, which is read once for all points."""
        if path not in self.fleets:
            self.fleets[path] = read_fleet_file(Path(path))
        return self.fleets[path]

    def _read_workload(self, source: Source) -> Workload | None:
        """The workload of inline keys or of a file, beside the campaign, in its project or in the current directory."""
        value = source.data.get("workload", {})
        if isinstance(value, dict):
            return parse_workload(value, source, ("workload",))
        if not isinstance(value, str):
            source.complain(("workload",), "must hold the workload's keys, or name a file such as workloads/1kib.yaml")
            return None
        beside = source.path.parent
        places = [beside / value, beside.parent / value, Path.cwd() / value]
        for place in places:
            if is_file(place):
                # The workload of a file, with what the campaign's sweep puts in the place of its values.
                if place not in self.workloads:
                    self.workloads[place] = self.new(
                        read_source(place, "workload", example="workloads/1kib.yaml is an example")
                    )
                variant = self.new(self.workloads[place].variant())
                for at, origin in source.placed.items():
                    if at[0] == "workload":
                        variant.put(at[1:], origin)
                return parse_workload_file(variant)
        looked = ", ".join(str(place) for place in dict.fromkeys(places))
        source.complain(("workload",), f"'{value}': there is no such workload file (looked for {looked})")
        return None


def _items_of_key(source: Source, key: str) -> list[object]:
    """The items of a campaign's list; none of a list that is refused for its length."""
    value = source.data.get(key)
    return value if isinstance(value, list) and len(value) <= LISTED_MAX else []


def _with_memory_of_machine(systems: Sequence[SystemChoice], source: Source, nodes: int) -> tuple[SystemChoice, ...]:
    """The systems with the memory that follows from this machine's where they say `auto`."""
    started = [system for system in systems if system.attach is None]
    layouts = [(find_system(system.name), system.shape) for system in started]
    machines = [
        implementation.machines(nodes, shape)
        for implementation, shape in layouts
        if not implementation.shape_problem(shape, nodes)
    ]
    try:
        return with_memory(systems, max(machines, default=nodes))
    except ValueError as error:
        source.complain(("heap",), str(error))
        return tuple(systems)


def _parse_system(
    item: object, source: Source, at: KeyPath, names: Sequence[str], common: _CampaignFields | None
) -> SystemChoice | None:
    """The system that `kafka`, `kafka@4.3.1`, `kafka@/opt/kafka` or a mapping states; the rest is as in `common`."""
    if isinstance(item, str) and item.partition("@")[1:] == ("@", ""):
        source.complain(at, f"'{item}': a version must follow the '@', such as {item}4.3.1")
        return None
    examples = " or ".join(system_names_for_users(names))
    otherwise = f"must be a system such as {examples}, with a version if you like: kafka@4.3.1"
    fields = validate(_StartedOrAttached, as_mapping("systems", item), source, at, otherwise)
    return None if fields is None else _choose_system(fields.root, source, at, names, common)


def _choose_system(
    fields: _StartedFields | _AttachedFields,
    source: Source,
    at: KeyPath,
    names: Sequence[str],
    common: _CampaignFields | None,
) -> SystemChoice | None:
    if fields.name not in names:
        source.complain((*at, "name"), unknown_system_complaint(fields.name, names))
        return None
    system = find_system(fields.name)
    check_secrets(fields.producer, source, (*at, "producer"))
    check_secrets(fields.consumer, source, (*at, "consumer"))
    memory = (None, None) if isinstance(fields, _AttachedFields) else (fields.heap, fields.direct_memory)
    choice = SystemChoice(
        **fields.model_dump(
            include={"name", "version", "settings", "producer", "consumer", "shape", "jvm", "optional"}
        ),
        heap_mb=_first_mb(memory[0], common.heap if common else None),
        direct_memory_mb=_first_mb(memory[1], common.direct_memory if common else None),
        durability=fields.durability.choice if fields.durability else None,
        partitions=fields.partitions or 0,
        copies=fields.replication_factor or 0,
        topic=fields.topic_settings,
        locate=lambda role, name: source.where((*at, role, name)),
    )
    if isinstance(fields, _AttachedFields):
        return replace(choice, attach=parse_attached_system(fields.attach, source, (*at, ATTACH), system))
    for name, why in setting_problems(system, fields.version or system.default_version, fields.settings):
        source.complain((*at, "settings", name), why)
    if choice.jvm and not system.runs_on_jvm:
        source.complain((*at, "jvm"), f"{system.title} does not run on a JVM")
    else:
        _check_jvm_options(choice.jvm, source, (*at, "jvm"))
    return choice


def _check_jvm_options(options: Mapping[str, str], source: Source, at: KeyPath) -> None:
    for name, why in problems_of_jvm_options(options):
        source.complain((*at, name), why)


def _first_mb(*sizes_bytes: int | None) -> int:
    """The first size that is said; else what systems have where nobody says."""
    size_bytes = next((size for size in sizes_bytes if size is not None), None)
    return SystemChoice.heap_mb if size_bytes is None else in_mb(size_bytes)


def _check_duplicates(systems: Sequence[SystemChoice | None], source: Source) -> None:
    seen: set[str] = set()
    for index, system in enumerate(systems):
        if system is None:
            continue
        label = _system_label(system)
        if label in seen:
            instead = (
                "give one of them a 'label' of its own"
                if system.attach
                else "use 'repeat' for repeated trials; to compare settings of one system, list it once and write "
                f"'variants: {TWO_VARIANTS}'"
            )
            source.complain(("systems", index), f"'{label}' is listed twice; {instead}")
        seen.add(label)


def _campaign_level(systems: Sequence[SystemChoice | None], top: _CampaignFields) -> LevelChoice:
    """The campaign's level; without one as it is found where others run all systems."""
    of_others = bool(systems) and all(system is not None and system.attach for system in systems)
    by_default = AS_FOUND if of_others else LevelChoice(LEVEL_BY_DEFAULT)
    return by_default if top.durability is None else top.durability.choice


def _check_levels(systems: Sequence[SystemChoice | None], common: LevelChoice, source: Source) -> None:
    """Complains about levels that others are to decide of systems that are started here."""
    for index, system in enumerate(systems):
        if system is not None and (system.durability or common).is_open and system.attach is None:
            at: KeyPath = ("systems", index, "durability") if system.durability else ("durability",)
            source.complain(
                at,
                f"'{AS_FOUND_WORD}' is the level of a cluster that others run, and {_system_label(system)} is started "
                "here: give a level from 1 to 4",
            )


def _check_topics(systems: Sequence[SystemChoice | None], common: LevelChoice, nodes: int, source: Source) -> None:
    """Complains about copies and settings of topics that can't be, or that give another level than is asked for."""
    for index, system in enumerate(systems):
        if system is None or not (system.topic or system.copies or system.attach):
            continue
        at: KeyPath = ("systems", index)
        implementation, choice = find_system(system.name), system.durability or common
        before = len(source.problems)
        for name, why in implementation.topic_problems(system.topic, system.copies).items():
            source.complain((*at, TOPIC_SETTINGS, name), why)
        if system.copies and (why := implementation.copies_problem(choice)):
            source.complain((*at, REPLICATION_FACTOR), f"{why}: leave it out")
        if len(source.problems) == before:
            _check_level_of_topics(system, choice, nodes, source, at)


def _check_clients(
    systems: Sequence[SystemChoice | None], common: LevelChoice, workload: Workload, source: Source
) -> None:
    """Complains about settings that a system's clients don't have, or not with these values."""
    for index, system in enumerate(systems):
        if system is None or not (system.producer or system.consumer):
            continue
        implementation = find_system(system.name)
        case = Case(
            system.version or implementation.default_version,
            1,
            system.durability or common,
            workload=workload,
            topic=system.topic,
        )
        if settings := implementation.client_settings(case):
            given = {PRODUCER: system.producer, CONSUMER: system.consumer}
            for role, name, why in settings.problems(implementation.title, given):
                source.complain(("systems", index, role, name), why)


def _check_level_of_topics(system: SystemChoice, choice: LevelChoice, nodes: int, source: Source, at: KeyPath) -> None:
    """Complains about what a campaign says of topics and producers if these can't be at the level asked for."""
    deciding = {TOPIC_SETTINGS: system.topic, REPLICATION_FACTOR: system.copies, "producer": system.producer}
    blame = next((key for key, value in deciding.items() if value), "")
    if choice.is_open or not blame:
        return
    implementation = find_system(system.name)
    case = Case(
        version=system.version or implementation.default_version,
        nodes=max(nodes, NODES_FOR_REPLICATION) if system.attach else nodes,
        choice=choice,
        producer=system.producer,
        topic=system.topic,
        copies=system.copies,
    )
    finding = expected_level(implementation, case)
    if finding is not None and finding.problems:
        given = f"level {finding.level} instead of" if finding.level else "another level than"
        as_found = f", or '{AS_FOUND_WORD}'" if system.attach else ""
        why = "; ".join(reason for reason in finding.reasoning if reason not in finding.undecided)
        source.complain(
            (*at, blame),
            f"gives {given} level {choice.level}, which `durability` asks for ({why}): ask for the level that is "
            f"meant{as_found}",
        )


def _parse_worker(fields: _WorkerFields, source: Source, fleet: FleetFile) -> WorkerChoice:
    """How load generators are set up, and how many; on hosts of a fleet as many as its file says."""
    count, hosts = fields.count, 0
    if fleet.load_hosts:
        hosts = fleet.load_hosts
        workers_of_hosts = fleet.load_generators
        if count not in (1, workers_of_hosts):
            source.complain(
                ("worker", "count"),
                f"'{count}': the fleet's hosts have {workers_of_hosts} load generators; leave it out",
            )
        count = workers_of_hosts
    _check_jvm_options(fields.jvm, source, ("worker", "jvm"))
    grain_ns = None if fields.grain is None else round(fields.grain * 1e9)
    return WorkerChoice(
        fields.heap // _MIB, fields.direct_memory // _MIB, fields.precision, grain_ns, count, hosts, fields.jvm
    )


def _parse_experiments(source: Source) -> list[ExperimentChoice]:
    chosen: list[ExperimentChoice] = []
    earlier: list[str] = []
    for index, item in enumerate(_items_of_key(source, "experiments")):
        if choice := _parse_one_experiment(item, source, ("experiments", index), earlier):
            chosen.append(choice)
        name = item.get("name") if isinstance(item, dict) else item
        earlier.append(str(name))
    return chosen


def _parse_one_experiment(item: object, source: Source, at: KeyPath, earlier: Sequence[str]) -> ExperimentChoice | None:
    """The experiment that `peak`, or a mapping of its name and options, states; None after a complaint."""
    experiments_by_name = experiments()
    item = as_mapping("experiments", item)
    if not isinstance(item, dict) or not isinstance(item.get("name"), str):
        source.complain(
            at, f"must be an experiment ({', '.join(experiments_by_name)}), or a mapping with its 'name' and options"
        )
        return None
    name = item["name"]
    if name not in experiments_by_name:
        source.complain((*at, "name"), unknown_name_complaint("experiment", name, list(experiments_by_name)))
        return None
    model = experiments_by_name[name].options
    apart = ("name", FAULTS)
    option_values = {key: value for key, value in item.items() if key not in apart}
    options = validate(model, option_values, source, at, beside=apart)
    faults = parse_faults(item[FAULTS], source, (*at, FAULTS)) if FAULTS in item else ()
    if options is None:
        return None
    if objection := experiments_by_name[name].objection(options, earlier):
        source.complain(at, objection)
        return None
    where = f"{source.path}:{source.line_of((*at, FAULTS))}" if faults else ""
    return ExperimentChoice(name, options, faults, where)


def campaign_keys() -> list[str]:
    """The keys at the top of a campaign file, for help texts and tests."""
    return keys_of(_CampaignFields)
