"""Which artifacts a version of Pulsar consists of. Pure."""

from __future__ import annotations

from tidegauge.distribution.coordinates import Coordinate, Recipe

DEFAULT_VERSION = "4.2.4"
VERIFIED = ("4.2.4", "4.0.8")
GROUP = "org.apache.pulsar"
# What standalone, bookies, brokers and the set-up tool never load (seen with -Xlog:class+load; 4.2.4: 327 jars and
# 242 MB without these exclusions, 263 and 170 MB with them). A group that a version does not have excludes nothing.
EXCLUSIONS = (
    # Functions on Kubernetes, and clients of the state store behind functions. (The store itself stays: it brings the
    # bookie's HTTP server, which tells the bookie's settings, and the tool that sets up a cluster links to it, to
    # DistributedLog and to Curator.)
    "io.grpc:*",
    "io.kubernetes:*",
    "org.apache.bookkeeper:stream-storage-java-client",
    "com.google.auth:*",
    "com.google.http-client:*",
    "io.opencensus:*",
    # Metadata in etcd or Oxia.
    "io.github.oxia-db:*",
    "io.streamnative.oxia:*",
    "io.etcd:*",
    f"{GROUP}:jetcd-core-shaded",
    # Native TLS: nothing here is encrypted.
    "org.conscrypt:*",
    "io.netty:netty-tcnative-boringssl-static",
    "io.netty:netty-resolver-dns-native-macos",
    # HTTP client of the telemetry exporter, which is off.
    "com.squareup.okhttp3:*",
    "com.squareup.okio:*",
    "org.jetbrains.kotlin:*",
    "io.reactivex.rxjava3:*",
    "net.bytebuddy:*",
)
JAR_PATTERN = rf"(?:{GROUP}\.|{GROUP}-)?pulsar-broker-(\d[\w.\-]*?)\.jar"
JAVA_MIN = 17
JAVA_MAX_BEFORE_4 = 21


def recipe(version: str) -> Recipe:
    """The recipe of a version; whether it exists is not known here.

    Pulsar's parent project pins the versions of Jackson, gRPC and Netty; without it they mix. Versions whose single
    jars are incomplete on the repository may still be there as the vendor's archive.
    """
    return Recipe(
        system="pulsar",
        version=version,
        root=Coordinate(GROUP, "pulsar-broker", version),
        managed_by=(Coordinate(GROUP, "pulsar", version, "pom"),),
        exclusions=EXCLUSIONS,
        archive=Coordinate(GROUP, "pulsar-server-distribution", version, "tar.gz", "bin"),
        java_min=JAVA_MIN,
        java_max=JAVA_MAX_BEFORE_4 if version.partition(".")[0] in ("1", "2", "3") else None,
        verified=VERIFIED,
    )
