"""Apache Kafka in KRaft mode."""

from tidegauge.systems.api import System
from tidegauge.systems.kafka.system import KafkaSystem

SYSTEM: System = KafkaSystem()
