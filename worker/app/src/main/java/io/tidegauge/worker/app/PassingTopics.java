package io.tidegauge.worker.app;

import io.tidegauge.worker.api.Driver;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.NoTopicException;
import io.tidegauge.worker.api.TopicSpec;
import java.util.List;

/**
 * Topics that are there while something is done with them. If that fails and their deletion does as
 * well, the first failure is the one that is reported: whoever may not write may often not delete
 * either.
 */
interface PassingTopics extends AutoCloseable {
  static PassingTopics create(Driver driver, List<TopicSpec> topics) throws DriverException {
    NoTopicException.tellRefusal(() -> driver.createTopics(topics));
    return () -> driver.deleteTopics(topics.stream().map(TopicSpec::name).toList());
  }

  @Override
  void close() throws DriverException;
}
