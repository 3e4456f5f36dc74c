"""A campaign file, read: its keys become a `Campaign`, and every mistake a message with its line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from tidegauge.campaign.model import WORKER_HEAP, Campaign, ExperimentChoice, Point, SystemChoice, WorkerChoice
from tidegauge.campaign.read.attach import parse_attached_system, refuse_swept_servers, secret_settings, to_correct
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
from tidegauge.config.fields import (
    Duration,
    Fields,
    Settings,
    Share,
    Size,
    duration_between,
    share_between,
    size_between,
    text_matching,
)
from tidegauge.config.source import KeyPath, Source, keys_of, raise_problems, read_source, unknown_name, validate
from tidegauge.config.workload import Count, parse_workload, parse_workload_file
from tidegauge.errors import UserError
from tidegauge.experiments.procedure import ServersChoice, experiments
from tidegauge.fleet.file import FleetFile, read_fleet_file
from tidegauge.model.level import LevelChoice
from tidegauge.model.trial import ServerReuse
from tidegauge.model.workload import WORKERS_MAX, Workload
from tidegauge.places import is_file
from tidegauge.systems.registry import VERSION, listed_names
from tidegauge.systems.registry import system_named as find_system
from tidegauge.systems.server_settings import setting_problems
from tidegauge.thresholds import EXAMPLES, Known, parse_threshold
from tidegauge.usage import Price, parse_price

THRESHOLDS = "thresholds"


def read_thresholds(source: Source, points: Sequence[Point]) -> tuple[str, ...]:
    """The campaign's thresholds in order. Problems are noted in `source`.

    Args:
        points: what the campaign has, at every point of its sweep; none if it could not be read, and then the names
            of experiments and systems are not checked.
    """
    listed = source.data.get(THRESHOLDS, [])
    if not isinstance(listed, list):
        source.complain((THRESHOLDS,), f"must be a list of conditions, {EXAMPLES}")
        return ()
    names = _names_for_thresholds(points) if points else None
    thresholds = []
    for index, text in enumerate(listed):
        try:
            thresholds.append(parse_threshold(text, names).text)
        except ValueError as error:
            source.complain((THRESHOLDS, index), str(error))
    return tuple(dict.fromkeys(thresholds))


def _names_for_thresholds(points: Sequence[Point]) -> Known:
    campaigns = [point.campaign for point in points]
    return Known(
        experiments=list(dict.fromkeys(choice.name for campaign in campaigns for choice in campaign.experiments)),
        systems=list(dict.fromkeys(_system_label(system) for campaign in campaigns for system in campaign.systems)),
        point={axis: list(dict.fromkeys(point.values[axis] for point in points)) for axis in points[0].values},
    )


def _system_label(system: SystemChoice) -> str:
    version = system.attach.label if system.attach else system.version
    return f"{system.name}@{version}" if version else system.name


_MIB = 1 << 20
LISTED_MAX = 50
"""Systems, and experiments, of a campaign."""
RETRIES_MAX = 10


_Name = text_matching(
    r"[a-z0-9][a-z0-9-]{0,62}",
    "must be made of lower-case letters, digits and hyphens, at most 63, since it names directories",
)


def _check_version(version: str) -> str:
    if version and "/" not in version and not VERSION.fullmatch(version):
        raise ValueError("must be a version such as 4.3.1, or the path of a directory (with a slash)")
    return version


class _CampaignFields(Fields):
    """The keys at the top of a campaign. Those that may be written in several ways are checked one by one below."""

    name: Annotated[str, _Name]
    description: str = ""
    systems: list[Any] = Field(min_length=1, max_length=LISTED_MAX)
    durability: Any = 3
    nodes: Annotated[int, Field(ge=1, le=100)] = 1
    workload: Any = Field(default_factory=dict)
    experiments: list[Any] = Field(min_length=1, max_length=LISTED_MAX)
    repeat: Annotated[int, Field(ge=1, le=1000)] = 1
    retry: Annotated[int, Field(ge=0, le=RETRIES_MAX)] = 0
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = 1
    data_directory: str = ""
    data_directories: list[Annotated[str, Field(min_length=1)]] = Field(default_factory=list)
    journal_directories: list[Annotated[str, Field(min_length=1)]] = Field(default_factory=list)
    worker: Any = Field(default_factory=dict)
    heap: Heap | None = None
    direct_memory: DirectMemory | None = None
    published: Any = None
    rates_at: Any = None
    sweep: Any = None
    skip_impossible: bool = False
    deployment: ServersChoice = ServerReuse.FRESH
    thresholds: Any = Field(default_factory=list)
    fleet: str = ""
    price_per_host_hour: Annotated[Price | None, BeforeValidator(parse_price)] = None


_SAME = {"name", "nodes", "repeat", "seed", "data_directory", "skip_impossible", "deployment", "retry", "fleet"}
"""What a campaign has as it is written."""


class _WorkerFields(Fields):
    heap: Annotated[Size, size_between(*WORKER_HEAP)] = 0
    direct_memory: Annotated[Size, size_between("16MiB", "1024GiB")] = 0
    precision: Annotated[Share, share_between("0%", "100%")] = WorkerChoice.precision
    grain: Annotated[Duration, duration_between("0us", "1ms")] | None = None
    count: Annotated[int, Field(ge=1, le=WORKERS_MAX)] = 1


class _SystemFields(Fields):
    name: str
    version: Annotated[str, AfterValidator(_check_version)] = ""
    settings: Settings = Field(default_factory=dict)
    producer: Settings = Field(default_factory=dict)
    consumer: Settings = Field(default_factory=dict)
    heap: Heap | None = None
    direct_memory: DirectMemory | None = None
    shape: Settings = Field(default_factory=dict)
    durability: Any = None
    optional: bool = False
    attach: Any = None
    partitions: Count | None = None


class _DurabilityFields(Fields):
    level: Annotated[int, Field(ge=1, le=4)] = 3
    form: str = ""


def parse_campaign(
    path: Path, overrides: Mapping[str, Any], system_names: Sequence[str], text: str | None = None
) -> Campaign:
    """Read and check a campaign, at every point of its sweep if it has one.

    Args:
        path: the YAML file.
        overrides: values from the command line that replace the file's, by its keys: "durability": 4 or
            {"level": 4, "form": "bypass"}, "systems": ["kafka@4.3.1"], "repeat": 3, "data-directory": "/mnt/disk".
        system_names: the systems that Tidegauge knows.
        text: taken for the file's content, if given; what it names is sought beside `path` all the same.

    Raises:
        UserError: with every problem, each on a line of its own.
    """
    source = read_source(path, "campaign", text)
    listed = systems_with_campaign_level(source, system_names)
    apply_scale(source, overrides)
    others, notes = apply_overrides(source, overrides, system_names)
    reading = _Reading(overrides, system_names, [source, *others], notes, listed)
    assignments = read_matrix(source)
    refuse_swept_servers(source, assignments)
    rates_at = read_rates_at(source, assignments)
    where = f"{path}:{source.line_of(('sweep',))}"
    points = []
    for assignment in assignments or (Assignment({}, {}),):
        variant = with_values(source, assignment)
        campaign = reading.campaign(variant)
        source.problems += variant.problems
        if campaign is not None:
            points.append(Point(assignment.values, campaign, where))
    thresholds = read_thresholds(source, points)
    raise_problems(reading.sources, to_correct(reading.sources, overrides))
    if not points:
        raise UserError(f"{path}: the campaign could not be read.", "Compare it with campaigns/quick.yaml.")
    # At each point, since any of them may come to be the first that can be measured.
    points = [
        replace(point, campaign=replace(point.campaign, thresholds=thresholds, rates_at=rates_at)) for point in points
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

    overrides: Mapping[str, Any]
    system_names: Sequence[str]
    sources: list[Source]
    notes: tuple[str, ...]
    listed: tuple[tuple[str, str], ...]
    workloads: dict[Path, Source] = field(default_factory=dict)

    def new(self, source: Source) -> Source:
        """The source, whose problems count from now on."""
        self.sources.append(source)
        return source

    def campaign(self, source: Source) -> Campaign | None:
        """The campaign, or None after noting what is wrong."""
        top = validate(_CampaignFields, source.data, source, ())
        listed = enumerate(_items_of_key(source, "systems"))
        systems = [_parse_system(item, source, ("systems", i), self.system_names, top) for i, item in listed]
        durability = _parse_level(source.data.get("durability", 3), source, ("durability",))
        chosen = _parse_experiments(source)
        workload = self._read_workload(source)
        fleet = read_fleet_file(Path(top.fleet)) if top and top.fleet else FleetFile()
        worker = _parse_worker(source, fleet)
        published = parse_published(source, str(self.overrides.get("scale", "")))
        _check_duplicates(systems, source)
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
            nodes_per_host=fleet.nodes_per_host,
            keeper_apart=fleet.has_keeper,
        )

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
                return self._read_workload_file(place, source)
        looked = ", ".join(str(place) for place in dict.fromkeys(places))
        source.complain(("workload",), f"'{value}': there is no such workload file (looked for {looked})")
        return None

    def _read_workload_file(self, path: Path, campaign: Source) -> Workload | None:
        """The workload of a file, with what the campaign's sweep puts in the place of its values."""
        if path not in self.workloads:
            self.workloads[path] = self.new(read_source(path, "workload"))
        variant = self.new(self.workloads[path].variant())
        for at, origin in campaign.placed.items():
            if at[0] == "workload":
                variant.put(at[1:], origin)
        return parse_workload_file(variant)


def _items_of_key(source: Source, key: str) -> list[Any]:
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
    item: Any, source: Source, at: KeyPath, names: Sequence[str], common: _CampaignFields | None
) -> SystemChoice | None:
    """The system that `kafka`, `kafka@4.3.1`, `kafka@/opt/kafka` or a mapping states; the rest is as in `common`."""
    if isinstance(item, str) and item.partition("@")[1:] == ("@", ""):
        source.complain(at, f"'{item}': a version must follow the '@', such as {item}4.3.1")
        return None
    item = as_mapping("systems", item)
    if not isinstance(item, dict):
        source.complain(
            at, f"must be a system such as {' or '.join(listed_names(names))}, with a version if you like: kafka@4.3.1"
        )
        return None
    if isinstance(item.get("version"), int | float) and not isinstance(item.get("version"), bool):
        source.complain(
            (*at, "version"), f"'{item['version']}': put the version in quotes, else YAML takes it for a number"
        )
        return None
    fields = validate(_SystemFields, item, source, at)
    if fields is None:
        return None
    if fields.name not in names:
        source.complain((*at, "name"), unknown_name("system", fields.name, listed_names(names)))
        return None
    durability = None if fields.durability is None else _parse_level(fields.durability, source, (*at, "durability"))
    secret_settings(item, source, at)
    attached = parse_attached_system(item, source, at, find_system(fields.name)) if "attach" in item else None
    if "attach" not in item:
        system = find_system(fields.name)
        for name, why in setting_problems(system, fields.version or system.default_version, fields.settings):
            source.complain((*at, "settings", name), why)
    return SystemChoice(
        **fields.model_dump(include={"name", "version", "settings", "producer", "consumer", "shape", "optional"}),
        heap_mb=_first_mb(fields.heap, common.heap if common else None),
        direct_memory_mb=_first_mb(fields.direct_memory, common.direct_memory if common else None),
        durability=durability,
        attach=attached,
        partitions=fields.partitions or 0,
    )


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
            instead = "give one of them a 'label' of its own" if system.attach else "use 'repeat' for repeated trials"
            source.complain(("systems", index), f"'{label}' is listed twice; {instead}")
        seen.add(label)


def _parse_level(value: Any, source: Source, at: KeyPath) -> LevelChoice | None:
    """The level that `3`, or a mapping of level and form, states; None after a complaint."""
    if isinstance(value, int) and not isinstance(value, bool):
        if not 1 <= value <= 4:
            source.complain(at, f"'{value}': must be a durability level from 1 to 4")
            return None
        return LevelChoice(value)
    otherwise = f"'{value}': must be a level from 1 to 4, or a mapping of 'level' and 'form'"
    fields = validate(_DurabilityFields, value, source, at, otherwise)
    return LevelChoice(fields.level, fields.form) if fields else None


def _parse_worker(source: Source, fleet: FleetFile) -> WorkerChoice | None:
    """How load generators are set up, and how many; on hosts of a fleet as many as its file says."""
    value = source.data.get("worker", {})
    otherwise = f"'{value}': must be a mapping such as {{heap: 256MiB, precision: 5%}}"
    fields = validate(_WorkerFields, value, source, ("worker",), otherwise)
    if fields is None:
        return None
    count, hosts = fields.count, 0
    if fleet.load_hosts:
        hosts = fleet.load_hosts
        workers_of_hosts = hosts * fleet.workers_per_host
        if count not in (1, workers_of_hosts):
            source.complain(
                ("worker", "count"),
                f"'{count}': the fleet's hosts have {workers_of_hosts} load generators; leave it out",
            )
        count = workers_of_hosts
    grain_ns = None if fields.grain is None else round(fields.grain * 1e9)
    return WorkerChoice(fields.heap // _MIB, fields.direct_memory // _MIB, fields.precision, grain_ns, count, hosts)


def _parse_experiments(source: Source) -> list[ExperimentChoice]:
    chosen: list[ExperimentChoice] = []
    earlier: list[str] = []
    for index, item in enumerate(_items_of_key(source, "experiments")):
        if choice := _parse_one_experiment(item, source, ("experiments", index), earlier):
            chosen.append(choice)
        name = item.get("name") if isinstance(item, dict) else item
        earlier.append(str(name))
    return chosen


def _parse_one_experiment(item: Any, source: Source, at: KeyPath, earlier: Sequence[str]) -> ExperimentChoice | None:
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
        source.complain((*at, "name"), unknown_name("experiment", name, list(experiments_by_name)))
        return None
    model = experiments_by_name[name].options
    option_values = {key: value for key, value in item.items() if key not in ("name", FAULTS)}
    options = validate(model, option_values, source, at)
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
