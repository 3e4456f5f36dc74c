package io.tidegauge.worker.engine.history;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;

/**
 * What one producer sent and what became of it, each written before it counts. Behind the header
 * ("TGHIST01", with the producer's number) records of 32 bytes, little endian:
 *
 * <pre>
 *  0 i64 when (monotonic ns)   16 i64 position, -1 if not given
 *  8 i64 sequence              24 i32 partition, -1 if not given
 *                              28 u8 kind: 1 invoked, 2 acknowledged, 3 unknown, 4 refused
 * </pre>
 *
 * <p>Meant for moderate rates: a lock and a write to the page cache for each record.
 */
public final class HistoryFile implements AutoCloseable {
  private static final String MAGIC = "TGHIST01";
  private static final int RECORD_BYTES = 32;
  private static final byte INVOKED = 1;
  private static final byte ACKNOWLEDGED = 2;
  private static final byte UNKNOWN = 3;
  private static final byte REFUSED = 4;

  private final RecordFile file;

  private HistoryFile(RecordFile file) {
    this.file = file;
  }

  /** A new file in the directory; {@link IOException} if there is one of this producer already. */
  public static HistoryFile create(Path directory, long trialId, int producer) throws IOException {
    Path path = directory.resolve(String.format("producer-%05d.history", producer));
    return new HistoryFile(new RecordFile(path, MAGIC, RECORD_BYTES, producer, trialId, 1));
  }

  /** Before the client is given the message. */
  public void invoked(long sequence, long ns) {
    write(INVOKED, sequence, ns, -1, -1);
  }

  /** Before the acknowledgement counts. */
  public void acknowledged(long sequence, long ns, int partition, long position) {
    write(ACKNOWLEDGED, sequence, ns, partition, position);
  }

  /** The client gave the message up: it may be stored or not. */
  public void unknown(long sequence, long ns, int partition) {
    write(UNKNOWN, sequence, ns, partition, -1);
  }

  /** The message surely was not stored. */
  public void refused(long sequence, long ns, int partition) {
    write(REFUSED, sequence, ns, partition, -1);
  }

  /**
   * Nothing is written once it is closed: the trial is over, and what has no outcome stays unknown.
   *
   * @throws UncheckedIOException if the file system takes no more
   */
  private synchronized void write(byte kind, long sequence, long ns, int partition, long position) {
    if (!file.isOpen()) {
      return;
    }
    try {
      file.roomForRecord()
          .putLong(ns)
          .putLong(sequence)
          .putLong(position)
          .putInt(partition)
          .putInt(kind);
      file.writeOut();
    } catch (IOException e) {
      throw new UncheckedIOException("the history can't be written: " + e.getMessage(), e);
    }
  }

  @Override
  public synchronized void close() throws IOException {
    file.close();
  }
}
