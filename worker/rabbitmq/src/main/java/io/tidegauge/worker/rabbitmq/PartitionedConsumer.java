package io.tidegauge.worker.rabbitmq;

import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.MessageConsumer;
import java.util.List;

/** A consumer that reads the partitions it is told to. */
interface PartitionedConsumer extends MessageConsumer {
  /** From now on it reads these partitions and no others. */
  void assign(List<Integer> partitions) throws DriverException;

  boolean isClosed();
}
