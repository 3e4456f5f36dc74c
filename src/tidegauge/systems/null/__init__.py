"""The system that is none: the worker's null driver acknowledges and delivers in memory. A yardstick."""

from tidegauge.systems.api import System
from tidegauge.systems.null.system import NullSystem

SYSTEM: System = NullSystem()
