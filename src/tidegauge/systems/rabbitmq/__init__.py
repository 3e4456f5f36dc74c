"""RabbitMQ: classic queues, quorum queues, streams and, on 3.x, mirrored classic queues."""

from tidegauge.systems.api import System
from tidegauge.systems.rabbitmq.system import RabbitmqSystem

SYSTEM: System = RabbitmqSystem()
