"""How producers send is said as planned, with a system's own settings, and after the run as clients reported it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console, RenderableType
from run_samples import result, spec, totals

from tidegauge import store
from tidegauge.campaign.model import Campaign, ExperimentChoice, SystemChoice
from tidegauge.campaign.plan.plan import plan_campaign, plan_warnings
from tidegauge.config.source import read_source
from tidegauge.config.workload import parse_workload_file
from tidegauge.experiments.procedure import experiments
from tidegauge.fairness import Case, sending_of
from tidegauge.model.level import LevelChoice
from tidegauge.model.message_sizes import POOL_BYTES_MAX
from tidegauge.model.sending import Sending, bodies_needed
from tidegauge.model.server import Setting
from tidegauge.model.workload import ClientSettings, Compression, Payload, Workload
from tidegauge.omb.files import read_driver
from tidegauge.report.html.page import report_page
from tidegauge.report.lists import ShownPlan, plan_list
from tidegauge.report.markdown import run_markdown
from tidegauge.report.sending import sending_words
from tidegauge.report.summary import plan_summary, run_summary
from tidegauge.report.terminal import run_report
from tidegauge.systems import registry
from tidegauge.worker.api import LoadOrder
from tidegauge.worker.messages import prepare_request


def rendered(part: RenderableType) -> str:
    console = Console(width=100, color_system=None, force_terminal=False)
    with console.capture() as capture:
        console.print(part)
    return " ".join(capture.get().split())


OWN = {"linger.ms": "20", "batch.size": "262144", "compression.type": "lz4"}
IN_FORCE = "batches to 256 KiB or 20 ms, compression lz4"
WISH = "batches to 128 KiB or 1 ms, compression none"


def sending(system: str, client: ClientSettings | None = None, **changes: object) -> Sending:
    case = Case("4.3.1", 1, LevelChoice(4), Workload(client=client or ClientSettings()))
    case = replace(case, **changes)  # type: ignore[arg-type]
    made = sending_of(case, registry.system_named(system).client_facts(case).facts, "a-client 1.0")
    assert made is not None
    return made


def producer(**values: str) -> tuple[Setting, ...]:
    return tuple(Setting("producer", name.replace("_", "."), value) for name, value in values.items())


UNBATCHED = ClientSettings(batch_bytes_max=1, batch_delay_ms_max=5.0)


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (sending("kafka"), WISH),
        (sending("kafka", producer=OWN), IN_FORCE),
        (sending("kafka", in_force=producer(**OWN)), IN_FORCE),
        # What StreamNative's files of 2020 say: batch.size=0.
        (sending("kafka", UNBATCHED), "no batches, compression none"),
        (sending("kafka", in_force=producer(batch_size="0", linger_ms="5")), "no batches, compression none"),
        (sending("kafka", in_force=producer(batch_size="200", linger_ms="5")), "one message in each batch (200 B"),
        (sending("kafka", producer={"linger.ms": "0"}), "batches to 128 KiB, without delay"),
        (sending("pulsar", producer={"batchingEnabled": "false"}), "no batches"),
        (sending("pulsar", producer={"batchingMaxPublishDelayMicros": "7000"}), "batches to 128 KiB or 7 ms"),
        (sending("pulsar", in_force=producer(compressionType="ZLIB")), "compression gzip"),
        (sending("rabbitmq"), "no batches (AMQP 0-9-1 has no batches), compression none"),
        (sending("rabbitmq", choice=LevelChoice(4, "stream")), "batches to 128 KiB (dynamic batches"),
    ],
)  # fmt: skip
def test_the_settings_that_act_are_worded(made: Sending, words: str) -> None:
    assert sending_words(made, 1024).startswith(words) or words in sending_words(made, 1024)
    assert "or 5 ms" not in sending_words(made, 1024)


def test_only_what_clients_reported_counts_as_read_back() -> None:
    assert not sending("kafka", producer=OWN).read_back
    assert sending("kafka", in_force=producer(**OWN)).read_back
    assert not sending("kafka", in_force=()).read_back, "no producer said anything"
    assert not sending("null", in_force=producer(delayed="false")).read_back


def planned(*systems: SystemChoice) -> ShownPlan:
    chosen = ExperimentChoice("latency", experiments()["latency"].options.model_validate({"rate": "1k"}))
    campaign = Campaign(
        name="own",
        description="",
        systems=systems,
        durability=LevelChoice(4),
        nodes=1,
        workload=Workload(),
        experiments=(chosen,),
        repeat=1,
        seed=1,
        data_directory="",
        source_path=Path("own.yaml"),
    )
    return ShownPlan(plan_campaign(campaign).trials, 60.0)


def test_the_plan_says_what_the_clients_are_given() -> None:
    one = planned(SystemChoice("kafka", producer=OWN))
    text = rendered(plan_list(one))
    assert f"Clients, as asked: {IN_FORCE}" in text
    assert WISH not in text
    assert plan_summary(one)["trials"][0]["sending"]["compression"] == "lz4"
    two = rendered(plan_list(planned(SystemChoice("kafka", producer=OWN), SystemChoice("pulsar"))))
    assert f"kafka@4.3.1: {IN_FORCE}" in two
    assert f"pulsar@{registry.system_named('pulsar').default_version}: {WISH}" in two


def test_every_output_says_what_the_clients_had(tmp_path: Path) -> None:
    workload = Workload(producer_overrides={"kafka": OWN})
    trial = replace(spec(), workload=workload)
    had = replace(sending("kafka", in_force=producer(**OWN)), library="kafka-clients 4.3.1")
    made = store.create_run(tmp_path, "own", "")
    made.write_plan([trial])
    made.open_trial(trial).finish(result(trial, sending=had), totals())
    made.finish("finished")
    run = store.load_run(made.path)
    page = report_page(run, store.details_of(run))
    first_screen = page.partition("<nav")[0]
    for text in (rendered(run_report(run)), run_markdown(run), page, first_screen):
        flat = " ".join(text.split())
        assert f"Clients, read back: {IN_FORCE}" in flat
        assert "(kafka-clients 4.3.1)" in flat
        assert WISH not in flat
    summary = run_summary(run)["experiments"][0]["results"][0]["sending"]
    assert (summary["batch_bytes"], summary["batch_delay_ms"], summary["compression"]) == (262_144, 20, "lz4")
    assert summary["read_back"] is True


DRIVER = """\
name: K
driverClass: io.openmessaging.benchmark.driver.kafka.KafkaBenchmarkDriver
replicationFactor: 1
topicConfig: ""
commonConfig: |
  bootstrap.servers=h1:9092
producerConfig: |
  batch.size={size}{more}
consumerConfig: |
  auto.offset.reset=earliest
"""


def omb_notes(tmp_path: Path, size: int, *more: str) -> str:
    file = tmp_path / "driver.yaml"
    file.write_text(DRIVER.format(size=size, more="".join(f"\n  {line}" for line in more)))
    driver, source = read_driver(file, managed=False)
    assert driver is not None, source.problems
    return " ".join(driver.terms.notes)


def test_a_default_of_the_client_that_decides_is_named(tmp_path: Path) -> None:
    silent = omb_notes(tmp_path, 16_384)
    assert "linger.ms is left out" in silent
    assert "5 ms since kafka-clients 4.0" in silent
    assert "acks is left out" in silent
    assert "linger.ms" not in omb_notes(tmp_path, 16_384, "linger.ms=0")
    assert "linger.ms" not in omb_notes(tmp_path, 0), "nothing waits without batches"
    assert "acks" not in omb_notes(tmp_path, 0, "acks=all")


def batches(bodies: int, partitions: int, messages: int) -> list[list[int]]:
    """Which bodies each partition's first batch holds, of a producer that deals its messages out in turn."""
    return [[(partition + partitions * place) % bodies for place in range(messages)] for partition in range(partitions)]


@pytest.mark.parametrize("partitions", [1, 4, 16, 100])
@pytest.mark.parametrize(("message_bytes", "batch_bytes"), [(100, 131_072), (1024, 131_072), (1024, 1 << 20)])
def test_no_body_repeats_within_a_batch_that_is_compressed(
    message_bytes: int, batch_bytes: int, partitions: int
) -> None:
    client = ClientSettings(batch_bytes_max=batch_bytes, compression=Compression.ZSTD)
    payload = Payload(message_bytes)
    bodies = bodies_needed(payload, sending("kafka", client))
    for batch in batches(bodies, partitions, batch_bytes // message_bytes):
        assert len(set(batch)) == len(batch)
    # A system's own setting counts as well, and without compression nothing grows.
    assert bodies_needed(payload, sending("kafka", producer={"compression.type": "zstd"})) > 256
    assert bodies_needed(payload, sending("kafka")) == 256
    assert bodies * message_bytes < POOL_BYTES_MAX


def test_too_few_bodies_for_a_codec_are_warned_of_in_the_plan() -> None:
    client = ClientSettings(batch_bytes_max=1 << 20, compression=Compression.ZSTD)
    zstd = Workload(client=client, payload=Payload(random_share=0.5))
    few = replace(zstd, payload=Payload(random_share=0.5, pool_bodies=256))
    made = sending("kafka", few.client)
    assert "payload-bodies: 256" in plan_warnings([replace(spec(), workload=few, sending=made)])[0]
    assert not plan_warnings([replace(spec(), workload=zstd, sending=made)])
    assert not plan_warnings([replace(spec(), workload=few, sending=sending("kafka"))])


def test_the_load_generator_is_told_how_many_bodies_it_takes() -> None:
    def told(payload: Payload) -> int:
        order = LoadOrder({}, "null", "null", ("t",), 1, {}, "one", Workload(payload=payload), 1.0, 1, 1, 1.0)
        return prepare_request(order).payload.pool_bodies

    assert told(Payload()) == 256, "never one only"
    assert told(Payload(pool_bodies=16)) == 16


def test_more_bodies_than_are_kept_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "w.yaml"
    file.write_text("name: w\nmessage-size: 1KiB\npayload-bodies: 20000\n")
    source = read_source(file, "workload")
    assert parse_workload_file(source) is None
    assert "'20000': of messages of 1 KiB at most 17,189 are kept, which are 16 MiB" in str(source.problems[0])


def client(scope: str, name: str, value: str, default: str | None) -> Setting:
    """A setting whose library's own is `default`; None: it has none, and what it is must be given."""
    return Setting(scope, name, value, value == default, default if value != default else None)


class TestWhatDiffersFromDefaults:
    """A line for each system, in 100 columns, with the library's own value; what has none, or is it, is left out."""

    KAFKA_CLIENT = (
        client("consumer", "fetch.max.bytes", "1640000", "52428800"),
        client("producer", "bootstrap.servers", "[127.0.0.1:9092]", None),
        client("producer", "linger.ms", "1", "5"),
        client("producer", "acks", "all", "all"),
        client("producer", "interceptor.classes", "x" * 99, "[]"),
        Setting("consumer", "clients", "1000 shared by 2000"),
    )

    @staticmethod
    def stored(path: Path, *clients: tuple[Setting, ...]) -> store.StoredRun:
        run = store.create_run(path / "runs", "quick", "")
        for number, settings in enumerate(clients, 1):
            made = spec(number=number)
            trial = run.open_trial(made)
            trial.write_settings([], list(settings), [])
            trial.finish(result(made), totals())
        run.finish("finished")
        return store.load_run(run.path)

    @staticmethod
    def said_of(run: store.StoredRun) -> list[str]:
        console = Console(width=100, color_system=None, force_terminal=False)
        with console.capture() as capture:
            console.print(run_report(run))
        lines = capture.get().splitlines()
        heads = [number for number, line in enumerate(lines) if line.startswith("Client settings")]
        return [] if not heads else lines[heads[0] : heads[0] + lines[heads[0] :].index("")]

    def test_a_system_has_a_line_and_what_is_long_is_cut(self, tmp_path: Path) -> None:
        lines = self.said_of(self.stored(tmp_path, self.KAFKA_CLIENT))
        assert lines == [
            "Client settings that differ from the library's own default (in brackets)",
            "  - kafka@4.3.1: consumer: fetch.max.bytes=1640000 (52428800); producer: linger.ms=1 (5),",
            f"    interceptor.classes={'x' * 37}... ([])",
        ]

    def test_each_value_of_trials_that_differ_is_there_the_default_too(self, tmp_path: Path) -> None:
        fetches = [client("consumer", "prefetch", value, "1") for value in ("1", "2", "2", "3", "4", "5")]
        lines = self.said_of(self.stored(tmp_path, *((fetch,) for fetch in fetches)))
        assert lines[1:] == ["  - kafka@4.3.1: consumer: prefetch=1 or 2 or 3 and 2 more (1)"]

    @pytest.mark.parametrize("settings", [(), KAFKA_CLIENT[1:2], KAFKA_CLIENT[3:4], KAFKA_CLIENT[5:]])
    def test_where_nothing_differs_nothing_is_said(self, tmp_path: Path, settings: tuple[Setting, ...]) -> None:
        assert self.said_of(self.stored(tmp_path, settings)) == []

    def test_json_and_markdown_have_them_too(self, tmp_path: Path) -> None:
        run = self.stored(tmp_path, self.KAFKA_CLIENT)
        changed = run_summary(run)["changed_client_settings"]["kafka@4.3.1"]
        assert [(each["scope"], each["name"], each["values"], each["default"]) for each in changed] == [
            ("consumer", "fetch.max.bytes", ["1640000"], "52428800"),
            ("producer", "linger.ms", ["1"], "5"),
            ("producer", "interceptor.classes", ["x" * 99], "[]"),
        ]
        folded = (
            run_markdown(run).partition("<details><summary>Client settings that differ")[2].partition("</details>")[0]
        )
        assert "- kafka@4.3.1: consumer: fetch.max.bytes=1640000 (52428800); producer: linger.ms=1 (5)," in folded
        bare = self.stored(tmp_path / "bare", ())
        assert run_summary(bare)["changed_client_settings"] == {}
        assert "Client settings" not in run_markdown(bare)

    def test_a_file_that_is_damaged_says_nothing(self, tmp_path: Path) -> None:
        run = self.stored(tmp_path, self.KAFKA_CLIENT)
        for damage in ("", "[]", '{"client": 3}', '{"client": [{"is_default": false, "default_value": {}}]}'):
            (run.trials[0].directory / "settings.json").write_text(damage)
            assert not any("linger" in line for line in self.said_of(run))
