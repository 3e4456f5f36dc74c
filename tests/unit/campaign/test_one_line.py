"""One line of the command line as a campaign: `bench` and `ab`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tidegauge.campaign.plan.plan import plan_campaign
from tidegauge.campaign.read.one_line import AB, BENCH, CommandLine, Composed, addresses_of, compose_line
from tidegauge.campaign.read.parse import parse_campaign
from tidegauge.errors import UserError
from tidegauge.model.level import AS_FOUND
from tidegauge.model.trial import LoadSpec
from tidegauge.systems.registry import all_systems, system_named

KAFKA = CommandLine(BENCH, "kafka", "h1:9092", partitions=3)
WHERE = Path("tidegauge bench")


def compose(line: CommandLine = KAFKA, *settings: str, **more: Any) -> Composed:
    return compose_line(replace(line, settings=settings, **more))


def trials(composed: Composed) -> list[LoadSpec]:
    campaign = composed.campaign(WHERE, composed.text())
    return [trial for trial in plan_campaign(campaign).trials if isinstance(trial, LoadSpec)]


def complaint(line: CommandLine = KAFKA, *settings: str, **more: Any) -> str:
    with pytest.raises(UserError) as caught:
        trials(compose(line, *settings, **more))
    return f"{caught.value.message} {caught.value.hint}"


def attach_of(target: str, address: str | None = None, *settings: str) -> Any:
    line = CommandLine(BENCH, target, address, partitions=1)
    return compose(line, *settings).data["systems"][0]["attach"]


def test_a_rate_asks_for_the_latency_at_it() -> None:
    (trial,) = trials(compose(rate="5k", duration="20s", message_size="100B", producers=2, consumers=4))
    assert (trial.experiment, trial.msgs_per_s, trial.measure_s, trial.choice) == ("latency", 5000, 20, AS_FOUND)
    assert (trial.workload.partitions, trial.workload.producers, trial.workload.consumers) == (3, 2, 4)
    assert trial.workload.payload.message_bytes == 100
    assert trial.system == "kafka@attached"


def test_without_one_the_peak_comes_first() -> None:
    peak, latency = trials(compose())
    assert (peak.experiment, latency.experiment, str(latency.rate_rule)) == ("peak", "latency", "50% of lowest peak")


@pytest.mark.parametrize(
    "target, address, expected",
    [
        ("kafka", "h1", {"bootstrap-servers": "h1:9092"}),
        ("kafka", "h1:1,h2", {"bootstrap-servers": "h1:1,h2:9092"}),
        ("kafka://h1:1,h2:2", None, {"bootstrap-servers": "h1:1,h2:2"}),
        ("kafka", "[::1]", {"bootstrap-servers": "[::1]:9092"}),
        ("pulsar", "h1", {"service-url": "pulsar://h1:6650", "admin-url": "http://h1:8080"}),
        ("pulsar://h1:1,h2", None, {"service-url": "pulsar://h1:1,h2:6650", "admin-url": "http://h1:8080"}),
        ("pulsar+ssl://h1", None, {"service-url": "pulsar+ssl://h1:6651", "admin-url": "https://h1:8443"}),
        ("amqp://h1:1/vh", None, {"uris": "amqp://h1:1/vh", "management-url": "http://h1:15672"}),
        ("rabbitmq", "amqps://h1", {"uris": "amqps://h1:5671", "management-url": "https://h1:15671"}),
    ],
)
def test_addresses_take_the_usual_ports_and_the_usual_neighbours(
    target: str, address: str | None, expected: dict[str, str]
) -> None:
    assert attach_of(target, address) == expected


def test_an_address_that_does_not_follow_is_set() -> None:
    assert attach_of("pulsar", "h1", "admin-url=http://h9:80")["admin-url"] == "http://h9:80"
    streams = compose(CommandLine(BENCH, "amqp://h1", partitions=1, rate="1"), "form=stream")
    assert streams.data["systems"][0]["attach"]["stream-uris"] == "rabbitmq-stream://h1:5552"
    (trial,) = trials(streams)
    assert trial.choice == replace(AS_FOUND, form="stream")


def test_what_is_no_address_stays_so_that_it_is_refused() -> None:
    rules = system_named("kafka").attach_rules
    assert rules is not None
    assert addresses_of("", rules) == {"bootstrap-servers": ""}
    assert "the address: must be text" in complaint(replace(KAFKA, address=" , "))
    many = ",".join(f"h{number}:1" for number in range(51))
    assert "the address: has 51 addresses; a few are enough, at most 50" in complaint(replace(KAFKA, address=many))
    assert "the address: 'h1:99999': must have a host and a port" in complaint(replace(KAFKA, address="h1:99999"))


def test_a_login_is_set_by_an_option_that_names_where_its_secret_is() -> None:
    (item,) = compose(KAFKA, "auth={method: plain, user: me, password: {env: SECRET}}").data["systems"]
    assert item["attach"]["auth"] == {"method": "plain", "user": "me", "password": {"env": "SECRET"}}


def test_a_password_in_an_address_is_not_repeated() -> None:
    said = complaint(replace(KAFKA, address="me:secret@h1:9092"))
    assert "The address must hold no user and no password" in said
    assert "--set 'auth={method: plain, user: NAME, password: {env: VARIABLE}}'" in said
    assert "secret" not in said


AB_LINE = replace(KAFKA, verb=AB, rate="5")


@pytest.mark.parametrize(
    ("line", "settings", "problem"),
    [
        (replace(KAFKA, target="me:hunter2@h1:9092", address=None), (), "the address: which system is it?"),
        (
            replace(KAFKA, target="amqp://me:hunter2@h1", address="h2"),
            (),
            "amqp://(hidden)@h1 and the address after it",
        ),
        (
            KAFKA,
            ('producer.sasl.jaas.config=X username="u" password="hunter2";',),
            "producer.sasl.jaas.config=(hidden)",
        ),
        (KAFKA, ("password=hunter2",), "--set password=(hidden): there is no 'password' to set"),
        (KAFKA, ("auth={method: plain, user: u, password: hunter2}",), "--set auth=(hidden)"),
        (replace(AB_LINE, vary=("producer.ssl.key.password=hunter2,x",)), (), "-L producer.ssl.key.password=(hidden)"),
        (replace(AB_LINE, vary=("producer.ssl.key.password=hunter2",)), (), "=(hidden): 1 variant, and 2 to 20 can be"),
        (replace(AB_LINE, vary=("address=h1,me:hunter2@h2:9092",)), (), "-L address=(hidden): must hold no user"),
    ],
)
def test_no_password_of_a_line_is_repeated(line: CommandLine, settings: tuple[str, ...], problem: str) -> None:
    said = complaint(line, *settings)
    assert problem in said
    assert "hunter2" not in said


def test_settings_go_where_campaigns_have_them() -> None:
    composed = compose(
        KAFKA, "producer.linger.ms=20", "consumer.fetch.min.bytes=2", "compression=lz4",
        "topic-settings.retention.ms=1", "replication-factor=2", "warm-up-max=9s", "seed=7", rate="100",
    )  # fmt: skip
    campaign = composed.campaign(WHERE, composed.text())
    (system,) = campaign.systems
    assert (system.producer, system.consumer) == ({"linger.ms": "20"}, {"fetch.min.bytes": "2"})
    assert (system.topic, system.copies, campaign.seed) == ({"retention.ms": "1"}, 2, 7)
    (trial,) = trials(composed)
    assert (trial.warmup_s_max, trial.workload.client.compression) == (9, "lz4")


def test_the_printed_campaign_does_the_same(tmp_path: Path) -> None:
    composed = compose(KAFKA, "producer.linger.ms=20", "compression=lz4", more=(("repeat", 3, "--repeat"),))
    text = composed.text("tidegauge bench kafka h1:9092")
    assert text.startswith("# tidegauge bench kafka h1:9092\nname: bench-kafka\nsystems:\n")
    assert YAML(typ="safe").load(text) == composed.data
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    names = sorted(all_systems())
    assert plan_campaign(parse_campaign(path, {}, names)).trials == plan_campaign(composed.campaign(WHERE, text)).trials


def test_partitions_are_asked_for_where_nobody_says_them() -> None:
    assert compose(replace(KAFKA, partitions=None)).needs_partitions
    assert not compose(replace(KAFKA, partitions=None), "partitions=4").needs_partitions
    assert not compose(replace(KAFKA, partitions=None), topic="orders", rate="5").needs_partitions


@pytest.mark.parametrize(
    "line, settings, problem",
    [
        (replace(KAFKA, target="kafak"), (), "unknown system 'kafak' (did you mean 'kafka'?)"),
        (replace(KAFKA, target="h1:9092", address=None), (), "'h1:9092': which system is it? Its name comes first."),
        (
            replace(KAFKA, address=None),
            (),
            "bench kafka: which cluster is to be measured? Such as: tidegauge bench kafka",
        ),
        (replace(KAFKA, address=None), (), "tidegauge quick --systems kafka"),
        (replace(KAFKA, target="kafka@"), (), "kafka@: a version must follow the '@'"),
        (replace(KAFKA, target="http://h1", address=None), (), "'http://': no system has such addresses"),
        (replace(KAFKA, target="pulsar://h1"), (), "one address is enough"),
        (replace(KAFKA, target="null"), (), "There is no cluster of Null"),
        (replace(KAFKA, rate="fast"), (), "--rate: 'fast': must be messages a second"),
        (replace(KAFKA, message_size="1Q"), (), "--message-size: '1Q': must be a size"),
        (replace(KAFKA, duration="20"), (), "--duration: '20': must be a duration with its unit"),
        (
            KAFKA,
            ("linger.ms=1",),
            "--set linger.ms=1: there is no 'linger.ms' to set (did you mean 'producer.linger.ms' or",
        ),
        (KAFKA, ("linger=1",), "there is no 'linger' to set (did you mean 'producer.linger.ms' or 'batch-delay'?)"),
        (KAFKA, ("fetch.min.byte=1",), "(did you mean 'consumer.fetch.min.bytes'?)"),
        (KAFKA, ("client.id=1",), "(did you mean 'producer.client.id' or 'consumer.client.id'?)"),
        (KAFKA, ("prodcer.linger.ms=1",), "(did you mean 'producer.linger.ms'?)"),
        (KAFKA, ("zzzzzzz=1",), "there is no 'zzzzzzz' to set. A setting is settings.NAME"),
        (KAFKA, ("compresion=lz4",), "there is no 'compresion' to set (did you mean 'compression'?)"),
        (KAFKA, ("compression=lz5",), "--set compression=lz5: 'lz5': must be one of none, lz4"),
        (KAFKA, ("compression",), "--set compression: must be KEY=VALUE, such as producer.linger.ms=20"),
        (
            KAFKA,
            ("settings.num.io.threads=1",),
            "--set settings.num.io.threads=1: has no effect on an attached cluster",
        ),
        (KAFKA, ("producer.ssl.key.password=x",), "a secret must not stand in a campaign"),
        (KAFKA, ("durability=2", "producer.acks=1"), "--set producer.acks=1: gives another level than level 2"),
        (replace(KAFKA, topic="t", rate="5"), (), "--partitions can't be given beside --topic"),
        (replace(KAFKA, topic="t", partitions=None), (), "--topic t: messages are added to this topic"),
    ],
)
def test_a_mistake_is_reported_with_its_option(line: CommandLine, settings: tuple[str, ...], problem: str) -> None:
    assert problem in complaint(line, *settings)


CLUSTERS = """\
systems:
  - name: kafka
    producer: {buffer.memory: 9}
    attach:
      bootstrap-servers: "far:9093"
      tls: {ca: ca.pem}
      auth: {method: plain, user: me, password: {file: secret.txt}}
      label: staging
  - {name: kafka, attach: {bootstrap-servers: "near:9092"}}
"""


def test_a_file_of_clusters_gives_address_and_secrets(tmp_path: Path) -> None:
    file = tmp_path / "clusters.yaml"
    file.write_text(CLUSTERS)
    (tmp_path / "ca.pem").write_text("PEM")
    line = CommandLine(BENCH, "kafka@staging", None, file, partitions=1)
    (item,) = compose(line).data["systems"]
    assert item["attach"]["bootstrap-servers"] == "far:9093"
    assert item["attach"]["tls"]["ca"] == str(tmp_path / "ca.pem")
    assert item["attach"]["auth"]["password"] == {"file": str(tmp_path / "secret.txt")}
    assert item["producer"] == {"buffer.memory": 9}
    assert trials(compose(line))[0].system == "kafka@staging"
    moved = compose(replace(line, address="other:1")).data["systems"][0]["attach"]
    assert (moved["bootstrap-servers"], moved["label"]) == ("other:1", "staging")
    several = complaint(replace(line, target="kafka"))
    assert "has 2 clusters of kafka: staging, attached. Say which: kafka@staging" in several
    assert "no cluster of kafka is called 'stagin' (did you mean 'staging'?)" in complaint(
        replace(line, target="kafka@stagin")
    )
    assert "it has no cluster of pulsar" in complaint(replace(line, target="pulsar"))


A_B = replace(KAFKA, verb=AB, rate="100")


def variants(*vary: str, **more: Any) -> list[dict[str, Any]]:
    return list(compose(A_B, vary=vary, **more).data["variants"])


def test_each_value_is_measured_with_each_of_the_others() -> None:
    assert variants("producer.linger.ms=0,20", "compression=none,lz4") == [
        {"name": f"linger.ms={ms} compression={codec}", "producer": {"linger.ms": ms}, "compression": codec}
        for ms in (0, 20)
        for codec in ("none", "lz4")
    ]
    composed = compose(A_B, vary=("producer.linger.ms=0,20",), more=(("same-within", "1ms", "--same-within"),))
    campaign = composed.campaign(WHERE, composed.text())
    assert [variant.name for variant in campaign.variants] == ["linger.ms=0", "linger.ms=20"]
    assert (campaign.repeat, str(campaign.same_within)) == (5, "1ms")


def test_commas_inside_of_braces_part_no_values() -> None:
    mixed, plain = variants("message-size={100B: 70%, 1KiB: 30%},1KiB")
    assert mixed == {"name": "message-size=100B: 70% 1KiB: 30%", "message-size": {"100B": "70%", "1KiB": "30%"}}
    assert plain == {"name": "message-size=1KiB", "message-size": "1KiB"}
    set_at_once = compose(A_B, "message-size={100B: 70%, 1KiB: 30%}", vary=("compression=none,lz4",))
    assert set_at_once.data["workload"]["message-size"] == {"100B": "70%", "1KiB": "30%"}


def test_versions_of_a_server_started_here_and_addresses_of_clusters() -> None:
    own = compose(replace(A_B, address=None, partitions=None), vary=("version=3.9.2,4.3.1",))
    assert not own.is_attached
    assert own.data["variants"][0] == {"name": "version=3.9.2", "version": "3.9.2"}
    assert sorted({trial.system for trial in trials(own)}) == ["kafka@3.9.2", "kafka@4.3.1"]
    assert {trial.choice.level for trial in trials(own)} == {3}
    assert variants("address=h1,h2:9")[1] == {"name": "address=h2:9", "attach": {"bootstrap-servers": "h2:9"}}


def test_two_values_of_one_client_setting_differ_in_its_place() -> None:
    (first, second) = variants("measure=5s,10s")
    assert (first["latency.measure"], second["latency.measure"]) == ("5s", "10s")


@pytest.mark.parametrize(
    "vary, problem",
    [
        ((), "ab kafka: what is to be compared? Give a key and its values: -L producer.linger.ms=0,20"),
        (("compression=lz4",), "-L compression=lz4: 1 variant, and 2 to 20 can be compared"),
        (("in-flight=1,2,3,4,5,6,7", "batch-size=1KiB,2KiB,3KiB"), "21 variants, and 2 to 20 can be compared"),
        (("compression=lz4,lz4",), "-L compression=lz4,lz4: a value is given twice"),
        (("compression=lz4,",), "-L compression=lz4,: a value is empty"),
        (("compression=lz4,none", "compression=gzip,zstd"), "'compression' is varied already"),
        (("linger.ms=1,2",), "-L linger.ms=1,2: there is no 'linger.ms' to set (did you mean 'producer.linger.ms' or"),
        (("compression=lz4,lz5",), "-L compression=lz4,lz5: 'lz5': must be one of"),
        (("linger",), "-L linger: must be KEY=VALUE, such as producer.linger.ms=0,20"),
    ],
)
def test_a_mistake_in_what_varies_is_reported_with_it(vary: tuple[str, ...], problem: str) -> None:
    assert problem in complaint(A_B, vary=vary)


def test_servers_started_here_have_no_address_and_no_topic() -> None:
    own = replace(A_B, address=None, partitions=None)
    assert "servers are started here, and have no address to vary" in complaint(own, vary=("address=a,b",))
    said = complaint(replace(own, topic="orders"), vary=("compression=none,lz4",))
    assert "--topic orders: servers that are started here have no topics yet. Name the cluster: ab kafka" in said


def test_a_level_may_be_an_option_beside_a_form() -> None:
    level = (("durability", 2, "--level"),)
    assert compose(more=level).data["durability"] == 2
    rabbit = CommandLine(BENCH, "rabbitmq", "h1", partitions=1, more=level)
    assert compose(rabbit, "form=stream").data["durability"] == {"level": 2, "form": "stream"}
    assert compose(replace(rabbit, more=()), "form=stream").data["durability"] == {
        "level": "as-found",
        "form": "stream",
    }
    assert "--set durability=3: --level says the same" in complaint(KAFKA, "durability=3", more=level)
    assert "--level: '7': must be a durability level" in complaint(more=(("durability", 7, "--level"),))


def test_a_form_may_be_varied_with_the_level_of_each() -> None:
    line = CommandLine(AB, "rabbitmq", "h1", partitions=1, rate="1", vary=("form=classic,quorum,stream",))
    composed = compose(line)
    assert [variant["durability"] for variant in composed.data["variants"]] == [
        {"level": "as-found", "form": form} for form in ("classic", "quorum", "stream")
    ]
    assert {trial.choice.form for trial in trials(composed)} == {"classic", "quorum", "stream"}
    assert composed.data["systems"][0]["attach"]["stream-uris"] == "rabbitmq-stream://h1:5552"
    both = compose(replace(line, vary=("form=classic,stream", "durability=4,2")))
    assert [tuple(variant["durability"].values()) for variant in both.data["variants"]] == [
        (4, "classic"), (2, "classic"), (4, "stream"), (2, "stream"),
    ]  # fmt: skip


def test_a_product_behind_the_protocol_is_named_like_a_system() -> None:
    assert attach_of("redpanda", "h1:9092") == {"bootstrap-servers": "h1:9092", "product": "redpanda"}
    assert attach_of("kafka", "h1:9092", "product=confluent")["product"] == "confluent"
    said = complaint(replace(KAFKA, target="msk-serverless", address=None, verb=AB))
    assert "msk-serverless: clusters of it are measured, and none is started here." in said
    assert "ab msk-serverless HOST:PORT" in said
    assert "'redpander'" in complaint(replace(KAFKA, target="redpander"))
