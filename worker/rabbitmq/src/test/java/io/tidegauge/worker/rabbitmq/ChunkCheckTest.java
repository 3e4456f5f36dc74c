package io.tidegauge.worker.rabbitmq;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.rabbitmq.stream.ChunkChecksumValidationException;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32;
import org.junit.jupiter.api.Test;

class ChunkCheckTest {
  private static final byte[] DATA = "what a chunk holds".getBytes(StandardCharsets.UTF_8);

  private final List<Long> refused = new ArrayList<>();
  private final ChunkCheck check = new ChunkCheck(refused::add);

  /** A chunk of 5 messages, read up to the end of its header. */
  private static ByteBuf chunk() {
    ByteBuf chunk = Unpooled.buffer();
    chunk.writeByte(0x50).writeByte(0).writeShort(3).writeInt(5);
    chunk.writeLong(1).writeLong(2).writeLong(3).writeInt(4).writeInt(DATA.length);
    chunk.writeInt(0).writeInt(0).writeBytes(DATA);
    return chunk.skipBytes(48);
  }

  @Test
  void whatFitsItsChecksumIsTaken() {
    CRC32 crc = new CRC32();
    crc.update(DATA);
    check.checksum(chunk(), DATA.length, crc.getValue());
    assertThat(refused).isEmpty();
  }

  @Test
  void ofAChunkThatDoesNotItIsToldHowManyMessagesItHad() {
    assertThatThrownBy(() -> check.checksum(chunk(), DATA.length, 1))
        .isInstanceOf(ChunkChecksumValidationException.class);
    assertThat(refused).containsExactly(5L);
  }
}
