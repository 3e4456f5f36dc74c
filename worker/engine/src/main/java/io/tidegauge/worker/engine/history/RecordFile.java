package io.tidegauge.worker.engine.history;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * A new file of records of one size behind a header of 32 bytes, all little endian:
 *
 * <pre>
 *  0 8 bytes magic     12 u32 producer, or 0
 *  8 u32 record bytes  16 u64 trial id         24 i64 when it was made (monotonic ns)
 * </pre>
 */
final class RecordFile implements AutoCloseable {
  private static final int HEADER_BYTES = 32;

  private final FileChannel channel;
  private final ByteBuffer buffer;
  private final int recordBytes;

  /**
   * @param buffered how many records are gathered before they are written out
   * @throws IOException if the file exists already or can't be made
   */
  RecordFile(Path path, String magic, int recordBytes, int producer, long trialId, int buffered)
      throws IOException {
    this.recordBytes = recordBytes;
    this.channel = FileChannel.open(path, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
    this.buffer =
        ByteBuffer.allocateDirect(Math.max(HEADER_BYTES, recordBytes * buffered))
            .order(ByteOrder.LITTLE_ENDIAN);
    buffer.put(magic.getBytes(StandardCharsets.US_ASCII));
    buffer.putInt(recordBytes).putInt(producer).putLong(trialId).putLong(System.nanoTime());
    writeOut();
  }

  /** Room for one more record, to be filled by the caller from its position on. */
  ByteBuffer roomForRecord() throws IOException {
    if (buffer.remaining() < recordBytes) {
      writeOut();
    }
    return buffer;
  }

  /**
   * Hands what is gathered to the kernel, which keeps it if this process is killed. Not synced: the
   * file is on no disk whose power is cut.
   */
  void writeOut() throws IOException {
    buffer.flip();
    while (buffer.hasRemaining()) {
      channel.write(buffer);
    }
    buffer.clear();
  }

  boolean isOpen() {
    return channel.isOpen();
  }

  @Override
  public void close() throws IOException {
    try (channel) {
      if (channel.isOpen()) {
        writeOut();
      }
    }
  }
}
