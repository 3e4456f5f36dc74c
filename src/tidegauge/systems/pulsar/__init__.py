"""Apache Pulsar with BookKeeper, standalone: broker and bookie in one process."""

from tidegauge.systems.api import System
from tidegauge.systems.pulsar.system import PulsarSystem

SYSTEM: System = PulsarSystem()
