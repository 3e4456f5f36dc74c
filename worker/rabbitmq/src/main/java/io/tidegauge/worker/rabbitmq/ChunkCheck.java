package io.tidegauge.worker.rabbitmq;

import com.rabbitmq.stream.ChunkChecksum;
import com.rabbitmq.stream.ChunkChecksumValidationException;
import io.netty.buffer.ByteBuf;
import java.util.function.LongConsumer;
import java.util.zip.CRC32;

/**
 * The check that the stream client makes of each chunk by default, and whoever wants to know which
 * ones it refuses: the client throws those away, and tells only its log.
 */
final class ChunkCheck implements ChunkChecksum {
  /** From a chunk's number of messages to the data behind its header. */
  private static final int COUNT_BEFORE_DATA_BYTES = 44;

  private final LongConsumer refused;

  /**
   * @param refused is told how many messages a chunk had, by its header
   */
  ChunkCheck(LongConsumer refused) {
    this.refused = refused;
  }

  @Override
  public void checksum(ByteBuf chunk, long dataBytes, long expected) {
    CRC32 crc = new CRC32();
    crc.update(chunk.nioBuffer(chunk.readerIndex(), chunk.readableBytes()));
    if (crc.getValue() != expected) {
      refused.accept(chunk.getUnsignedInt(chunk.readerIndex() - COUNT_BEFORE_DATA_BYTES));
      throw new ChunkChecksumValidationException(expected, crc.getValue());
    }
  }
}
