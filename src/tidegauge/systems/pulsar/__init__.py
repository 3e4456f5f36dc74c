"""Apache Pulsar with BookKeeper: standalone (broker and bookie in one process) or a cluster."""

from tidegauge.systems.api import System
from tidegauge.systems.pulsar.system import PulsarSystem

SYSTEM: System = PulsarSystem()
