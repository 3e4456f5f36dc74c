"""Where amounts come from: the published reports that disagree with each other, and what Tidegauge measured itself."""

from __future__ import annotations

CONFLUENT_2020 = "Confluent 2020, Benchmarking Apache Kafka, Apache Pulsar, and RabbitMQ"
STREAMNATIVE_2020 = "StreamNative 2020, Benchmarking Pulsar and Kafka, full report"
STREAMNATIVE_2022 = "StreamNative 2022, Apache Pulsar vs. Apache Kafka"
OWN = "measured while Tidegauge was built, see docs/decisions/0006"
BY_DEFINITION = "follows from what the setting means"
NO_FIGURE = "no figure is known"
