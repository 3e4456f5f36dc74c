"""Systems of installed packages: found by their entry point, or refused with whose fault it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tidegauge.distribution.extensions import driver_directory, installed_extensions
from tidegauge.durability import LevelChoice
from tidegauge.errors import UserError
from tidegauge.model.workload import SubscriptionType, Workload
from tidegauge.omb.files import read_driver
from tidegauge.systems import registry
from tidegauge.systems.api import System
from tidegauge.worker.archive import worker_class_path

Install = Callable[[str, str], Path]

SMALLEST = """
from tidegauge.systems.api import System
class Small(System):
    name = "NAME"
    title = "Small"
    driver = "null"
    default_version = "1"
    def provision(self, version, report): ...
    def deploy(self, request, host): ...
    def possible_levels(self, version, nodes): return []
    def derive_level(self, settings, choice, nodes): ...
SYSTEM = Small()
"""
SPEAKS_KAFKAS_PROTOCOL = """
from tidegauge.systems.kafka import KafkaSystem
class Other(KafkaSystem):
    name = "NAME"
    title = "Another server"
    default_version = "25.1"
SYSTEM = Other()
"""


def forget() -> None:
    for known in (installed_extensions, registry.all_systems, registry.omb_drivers):
        known.cache_clear()


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Puts a package where Python finds it: (name of the system, code) to its directory."""
    monkeypatch.syspath_prepend(tmp_path)

    def install(name: str, code: str, package: str = "") -> Path:
        package = package or f"outside_{abs(hash((str(tmp_path), name)))}"
        directory = tmp_path / package
        directory.mkdir()
        (directory / "__init__.py").write_text(code.replace("NAME", name))
        described = tmp_path / f"{package}-1.0.dist-info"
        described.mkdir()
        (described / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        (described / "entry_points.txt").write_text(f"[tidegauge.systems]\n{name} = {package}\n")
        forget()
        return directory

    forget()
    yield install
    forget()


def test_a_package_needs_six_things_and_the_rest_has_defaults_that_promise_nothing(install: Install) -> None:
    install("small", SMALLEST)
    system = registry.system_named("small")
    assert system.shape_problem({"brokers": "2"}, 3) == "Small has no options of layout"
    assert system.shape_problem({}, 3) == ""
    assert system.machines(3, {}) == 3
    assert system.network_problem("1")
    choice = LevelChoice(4)
    assert system.subscription_problem(SubscriptionType.SHARED, "1", choice, False) == (
        "Small has no shared subscriptions"
    )
    assert not system.serves_replicas(choice, Workload())
    assert system.processes("1", 3, 512, 256, {})[0].total_mb == 3 * 768
    assert (system.attach_rules, system.metrics, system.host_needs) == (None, (), ())
    assert (system.topic_settings(choice), system.incomplete([], 3), system.client_acks(choice, 3)) == ({}, "", "all")


def test_a_class_that_lacks_one_of_them_is_no_system(install: Install) -> None:
    install("small", SMALLEST.replace("def deploy", "def start"))
    with pytest.raises(UserError, match=r"(?s)'small' of the package outside_\d+ 1\.0 can't be used: .*deploy"):
        registry.system_named("kafka")


def test_a_system_that_speaks_anothers_protocol_builds_on_that_systems_folder(install: Install) -> None:
    install("panda", SPEAKS_KAFKAS_PROTOCOL)
    panda, kafka = registry.system_named("panda"), registry.system_named("kafka")
    assert panda.driver == "kafka"
    assert panda.possible_levels("25.1", 3) == kafka.possible_levels("4.3.1", 3)
    assert panda.attach_rules == kafka.attach_rules


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("import no_such_module\n", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("SYSTEM = 'small'\n", "with a SYSTEM derived from"),
        ("", "with a SYSTEM derived from"),
        (SMALLEST.replace("NAME", "tiny"), "its SYSTEM is called 'tiny'"),
        (SMALLEST.replace("title =", "heading ="), "its SYSTEM has no title"),
    ],
)
def test_a_package_that_can_not_be_used_is_named(install: Install, code: str, why: str) -> None:
    install("small", code)
    for known in (registry.all_systems, registry.omb_drivers):
        with pytest.raises(UserError) as refused:
            known()
        assert "The system 'small' of the package outside_" in refused.value.message
        assert why in refused.value.message


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("import no_such_module\n", "its module omb: ModuleNotFoundError: No module named 'no_such_module'"),
        ("", "its module omb: AttributeError: "),
        ("OMB = 'small'\n", "its module omb: AttributeError: "),
    ],
)
def test_a_package_whose_omb_files_can_not_be_read_is_named(install: Install, code: str, why: str) -> None:
    (install("small", SMALLEST) / "omb.py").write_text(code)
    assert registry.system_named("small")
    with pytest.raises(UserError) as refused:
        registry.omb_drivers()
    assert "The system 'small' of the package outside_" in refused.value.message
    assert why in refused.value.message


def test_a_driver_class_of_a_package_need_not_be_in_one(install: Install, tmp_path: Path) -> None:
    code = "from tidegauge.systems.omb import OmbDriver\nOMB = OmbDriver('SmallDriver', 'small', lambda *_: None)\n"
    (install("small", SMALLEST) / "omb.py").write_text(code)
    (tmp_path / "d.yaml").write_text("name: d\ndriverClass: a.kafca.Driver\n")
    _, source = read_driver(tmp_path / "d.yaml", managed=True)
    assert "did you mean 'io.openmessaging.benchmark.driver.kafka.KafkaBenchmarkDriver'" in str(source.problems[0])


def test_a_name_that_is_built_in_is_refused(install: Install) -> None:
    install("kafka", SMALLEST)
    with pytest.raises(UserError, match="has the name of one that is built in"):
        registry.all_systems()


def test_two_packages_with_one_system_are_refused(install: Install) -> None:
    install("small", SMALLEST)
    install("small", SMALLEST, "another")  # type: ignore[call-arg]
    with pytest.raises(UserError, match=r"is brought by two packages: .* 1\.0 and .* 1\.0"):
        registry.all_systems()


def test_jars_of_a_driver_are_taken_from_its_package(install: Install, tmp_path: Path) -> None:
    directory = install("small", SMALLEST)
    assert driver_directory("small") is None, "it brings none"
    with pytest.raises(UserError, match="no driver 'small'"):
        worker_class_path("small")
    (directory / "worker").mkdir()
    (directory / "worker/small.jar").touch()
    assert driver_directory("small") == directory / "worker"
    assert worker_class_path("small")[-1] == directory / "worker/small.jar"


def test_every_system_that_is_built_in_says_what_it_is() -> None:
    for name, system in registry.all_systems().items():
        assert isinstance(system, System)
        assert system.name == name
        assert system.title
        assert system.driver
