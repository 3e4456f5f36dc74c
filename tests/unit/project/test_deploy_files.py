"""Ready cluster files: valid by what Ray publishes with itself, with commands that the command line has."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from typer.testing import CliRunner

from tidegauge.fleet.file import read_fleet_file
from tidegauge.model.host import KEEPER_ROLE, LOAD_ROLE, SERVER_ROLE

autoscaler = pytest.importorskip("ray.autoscaler", reason="needs Ray: make fleet")

DEPLOY = Path(__file__).parents[3] / "deploy"
CLUSTERS = ["aws-confluent-2020.yaml", "aws-streamnative-2022.yaml", "ssh.yaml"]


def loaded(name: str) -> Any:
    return yaml.safe_load((DEPLOY / name).read_text())


def schema() -> Any:
    return json.loads((Path(autoscaler.__file__).parent / "ray-schema.json").read_text())


@pytest.mark.parametrize("name", CLUSTERS)
def test_a_cluster_is_one_that_ray_up_takes(name: str) -> None:
    from ray.autoscaler._private.util import prepare_config, validate_config

    cluster = loaded(name)
    jsonschema.validate(cluster, schema())
    validate_config(prepare_config(cluster))
    with pytest.raises(jsonschema.ValidationError, match="'cluster-name' was unexpected"):
        jsonschema.validate({**cluster, "cluster-name": "x"}, schema())


KUBERAY = "github.com/ray-project/kuberay/ray-operator@v1.5.0"
KUBERAY_DIGEST = "h1:KCjCQ7PSsvs9Ke+90CZbbs498nuaIJ/JkXk4vd54EVg="


def kuberay_schema() -> Any:
    """What KubeRay publishes, in its Go module; here without room for keys that Kubernetes would drop in silence."""

    def strict(schema: Any) -> Any:
        if isinstance(schema, list):
            return [strict(part) for part in schema]
        if not isinstance(schema, dict):
            return schema
        own = {name: strict(part) for name, part in schema.items()}
        return {"additionalProperties": False, **own} if isinstance(schema.get("properties"), dict) else own

    if shutil.which("go") is None:
        pytest.skip("needs Go, which fetches KubeRay's module")
    fetched = subprocess.run(["go", "mod", "download", "-json", KUBERAY], capture_output=True, text=True, check=False)
    module = json.loads(fetched.stdout or "{}")
    if "Dir" not in module:
        pytest.skip(f"KubeRay's module can't be fetched: {module.get('Error') or fetched.stderr}")
    assert module["Sum"] == KUBERAY_DIGEST
    definition = yaml.safe_load((Path(module["Dir"]) / "config/crd/bases/ray.io_rayclusters.yaml").read_text())
    (version,) = (version for version in definition["spec"]["versions"] if version["name"] == "v1")
    return strict(version["schema"]["openAPIV3Schema"])


def test_a_cluster_is_one_that_kuberay_takes() -> None:
    cluster, schema = loaded("kuberay.yaml"), kuberay_schema()
    assert cluster["apiVersion"] == "ray.io/v1"
    jsonschema.validate(cluster, schema)
    server = cluster["spec"]["workerGroupSpecs"][0]
    server["template"]["spec"]["containers"][0]["volumeMount"] = []
    with pytest.raises(jsonschema.ValidationError, match="'volumeMount' was unexpected"):
        jsonschema.validate(cluster, schema)
    del server["template"]["spec"]["containers"][0]["volumeMount"], server["groupName"]
    with pytest.raises(jsonschema.ValidationError, match="'groupName' is a required property"):
        jsonschema.validate(cluster, schema)


def test_a_cluster_is_one_that_rays_reader_for_kubernetes_takes() -> None:
    from ray.autoscaler._private.kuberay.autoscaling_config import _derive_autoscaling_config_from_ray_cr

    types = _derive_autoscaling_config_from_ray_cr(loaded("kuberay.yaml"))["available_node_types"]
    assert {name: kind["min_workers"] for name, kind in types.items()} == {
        "headgroup": 0,
        "server": 3,
        "load": 4,
        "keeper": 1,
    }


@pytest.mark.parametrize(("name", "load_hosts"), [("fleet-3-4.yaml", 4), ("fleet-3.yaml", 0)])
def test_the_fleet_is_that_of_the_clusters(name: str, load_hosts: int) -> None:
    fleet = read_fleet_file(DEPLOY / name)
    assert dict(fleet.hosts_of_role)[SERVER_ROLE] == 3
    assert fleet.load_hosts == load_hosts


def test_hosts_of_the_reports_are_as_many_as_the_fleet_wants() -> None:
    wanted = dict(read_fleet_file(DEPLOY / "fleet-3-4.yaml").hosts_of_role)
    for name in CLUSTERS[:2]:
        types = loaded(name)["available_node_types"]
        assert {role: types[role]["min_workers"] for role in (SERVER_ROLE, LOAD_ROLE, KEEPER_ROLE)} == wanted
        for role, kind in types.items():
            # A type's setup replaces everybody's.
            if role != "controller":
                assert kind["worker_setup_commands"][0] == loaded(name)["setup_commands"][0]
                assert kind["worker_setup_commands"][-1] == f"echo {role} > ~/role"
    ssh = loaded("ssh.yaml")["provider"]
    network = read_fleet_file(DEPLOY / "fleet-3.yaml").network
    assert network is not None
    assert {address in map(str, network) for address in (ssh["head_ip"], *ssh["worker_ips"])} == {True}


def commands() -> list[str]:
    """Every call of Tidegauge in the files."""
    found = []
    for path in filter(Path.is_file, DEPLOY.rglob("*")):
        found += re.findall(
            r"(?<!bin/)\btidegauge (fleet (?:head|join|down|check)|run)\b([^\n&\"']*)", path.read_text()
        )
    return [f"{verb}{rest}" for verb, rest in found]


@pytest.mark.parametrize("command", sorted(set(commands())))
def test_commands_are_those_of_the_command_line(command: str) -> None:
    from tidegauge.cli.main import app

    # What a shell replaces is one word.
    words = shlex.split(re.sub(r"\$\([^()]*\)|\$\w+|`", "x", command))
    verbs = words[:2] if words[0] == "fleet" else words[:1]
    help_text = CliRunner().invoke(app, [*verbs, "--help"], env={"COLUMNS": "200"}).stdout
    assert all(word in help_text for word in words if word.startswith("--")), help_text


@pytest.mark.parametrize("name", CLUSTERS)
def test_a_head_by_ray_up_has_what_its_autoscaler_and_ray_down_need(name: str) -> None:
    cluster = loaded(name)
    start = " ".join(cluster["head_start_ray_commands"])
    # Ray there is root's: ssh looks for the key in root's home, whatever HOME says.
    assert "sudo install -m 600 ~/ray_bootstrap_key.pem /root/" in start
    # A host may have several addresses, such as a container bridge's.
    assert "--address" in start
    (setup,) = cluster["setup_commands"]
    assert "~/dist/tidegauge-*.whl" in setup, "nothing of this name is on PyPI"
    assert '"$1" = stop' in setup
    assert cluster["file_mounts"]["/home/ubuntu/dist"] == "./dist"


@pytest.mark.parametrize("name", CLUSTERS[:2])
def test_hosts_on_aws_have_an_image_and_disks_that_a_second_time_are_left_alone(name: str) -> None:
    for role, kind in loaded(name)["available_node_types"].items():
        assert "ubuntu/server/24.04" in kind["node_config"]["ImageId"], "Ray's own is Ubuntu 18.04"
        if role == SERVER_ROLE:
            (disks,) = (line for line in kind["worker_setup_commands"] if "mkfs" in line)
            assert disks.index("mountpoint -q") < disks.index("mkfs")


def test_containers_that_wait_for_the_head_have_its_token() -> None:
    spec = loaded("kuberay.yaml")["spec"]
    for group in (spec["headGroupSpec"], *spec["workerGroupSpecs"]):
        (container,) = group["template"]["spec"]["containers"]
        environment = {entry["name"]: entry["value"] for entry in container["env"]}
        assert environment == {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": "/secrets/token"}
        assert any(mount["mountPath"] == "/secrets" for mount in container["volumeMounts"])
