package io.tidegauge.worker.engine.history;

import io.tidegauge.worker.api.ReadBackSink;
import io.tidegauge.worker.engine.message.MessageHeader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;

/**
 * What was found when a trial's topics were read back. Behind the header ("TGREAD01") records of 40
 * bytes, little endian, in the order of delivery:
 *
 * <pre>
 *  0 i64 sequence   16 u32 producer  24 u32 topic      32 u32 flags: 1 corrupt,
 *  8 i64 position   20 u32 within    28 u32 partition         2 not attributed, 4 foreign
 * </pre>
 *
 * <p>A message whose header is damaged, or that has none of ours, is corrupt and not attributed.
 */
public final class ReadLog implements ReadBackSink, AutoCloseable {
  private static final String MAGIC = "TGREAD01";
  private static final int RECORD_BYTES = 40;
  private static final int BUFFERED = 1_000;
  private static final int CORRUPT = 1;
  private static final int UNATTRIBUTED = 2;
  private static final int FOREIGN = 4;

  private final RecordFile file;
  private final long trialId;

  /** A new file; {@link IOException} if it exists already. */
  public ReadLog(Path path, long trialId) throws IOException {
    this.file = new RecordFile(path, MAGIC, RECORD_BYTES, 0, trialId, BUFFERED);
    this.trialId = trialId;
  }

  /** Throws {@link UncheckedIOException} if the file system takes no more. */
  @Override
  public synchronized void found(
      int topic, int partition, long position, int within, byte[] value) {
    int flags = flags(value);
    boolean known = (flags & UNATTRIBUTED) == 0;
    try {
      file.roomForRecord()
          .putLong(known ? MessageHeader.sequence(value, 0) : -1)
          .putLong(position)
          .putInt(known ? MessageHeader.producer(value, 0) : -1)
          .putInt(within)
          .putInt(topic)
          .putInt(partition)
          .putInt(flags)
          .putInt(0);
    } catch (IOException e) {
      throw new UncheckedIOException("the read log can't be written: " + e.getMessage(), e);
    }
  }

  private int flags(byte[] value) {
    if (value.length < MessageHeader.BYTES || !MessageHeader.isOurs(value, 0)) {
      return CORRUPT | UNATTRIBUTED;
    }
    int foreign = MessageHeader.trialId(value, 0) == trialId ? 0 : FOREIGN;
    return MessageHeader.isBodyIntact(value, 0, value.length) ? foreign : foreign | CORRUPT;
  }

  @Override
  public synchronized void close() throws IOException {
    file.close();
  }
}
