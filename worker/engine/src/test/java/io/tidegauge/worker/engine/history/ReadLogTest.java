package io.tidegauge.worker.engine.history;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tidegauge.worker.engine.message.MessageHeader;
import io.tidegauge.worker.engine.message.PayloadPool;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ReadLogTest {
  private static final int HEADER_BYTES = 32;
  private static final int RECORD_BYTES = 40;
  private static final long TRIAL = 0x8000_0000_0000_0001L;

  @TempDir Path directory;

  private static byte[] message(long trialId, int producer, long sequence) {
    byte[] value = PayloadPool.seeded(1, 200, 0.5, 1).newValue(trialId, producer, 0);
    MessageHeader.writeMessage(value, sequence, 123);
    return value;
  }

  private ByteBuffer logged(byte[]... values) throws Exception {
    Path path = directory.resolve("pass.read");
    try (ReadLog log = new ReadLog(path, TRIAL)) {
      for (int i = 0; i < values.length; i++) {
        log.found(1, 2, 1_000 + i, i, values[i]);
      }
    }
    return ByteBuffer.wrap(Files.readAllBytes(path)).order(ByteOrder.LITTLE_ENDIAN);
  }

  private static int flags(ByteBuffer file, int record) {
    return file.getInt(HEADER_BYTES + record * RECORD_BYTES + 32);
  }

  @Test
  void theHeaderSaysWhatItIs() throws Exception {
    ByteBuffer file = logged();
    assertThat(file.capacity()).isEqualTo(HEADER_BYTES);
    assertThat(new String(file.array(), 0, 8, StandardCharsets.US_ASCII)).isEqualTo("TGREAD01");
    assertThat(file.getInt(8)).isEqualTo(RECORD_BYTES);
    assertThat(file.getLong(16)).isEqualTo(TRIAL);
  }

  @Test
  void aMessageIsFoundWhereItIs() throws Exception {
    ByteBuffer file = logged(message(TRIAL, 3, 17), message(TRIAL, 4, 1L << 33));
    int second = HEADER_BYTES + RECORD_BYTES;
    assertThat(file.capacity()).isEqualTo(second + RECORD_BYTES);
    assertThat(file.getLong(second)).isEqualTo(1L << 33);
    assertThat(file.getLong(second + 8)).isEqualTo(1_001);
    assertThat(file.getInt(second + 16)).isEqualTo(4);
    assertThat(file.getInt(second + 20)).isEqualTo(1);
    assertThat(file.getInt(second + 24)).isEqualTo(1);
    assertThat(file.getInt(second + 28)).isEqualTo(2);
    assertThat(flags(file, 0)).isZero();
    assertThat(flags(file, 1)).isZero();
  }

  @Test
  void whatIsWrongWithAMessageIsFlagged() throws Exception {
    byte[] body = message(TRIAL, 3, 1);
    body[150] ^= 1;
    byte[] header = message(TRIAL, 3, 2);
    header[24] ^= 1;
    byte[] cut = java.util.Arrays.copyOf(message(TRIAL, 3, 3), 100);
    byte[] foreign = message(TRIAL + 1, 3, 4);
    byte[] foreignBody = message(TRIAL + 1, 3, 5);
    foreignBody[150] ^= 1;
    ByteBuffer file = logged(body, header, cut, foreign, new byte[0], new byte[200], foreignBody);
    assertThat(flags(file, 0)).isEqualTo(1);
    assertThat(file.getLong(HEADER_BYTES)).isEqualTo(1);
    assertThat(flags(file, 1)).isEqualTo(3);
    assertThat(file.getLong(HEADER_BYTES + RECORD_BYTES)).isEqualTo(-1);
    assertThat(flags(file, 2)).isEqualTo(1);
    assertThat(flags(file, 3)).isEqualTo(4);
    assertThat(flags(file, 4)).isEqualTo(3);
    assertThat(flags(file, 5)).isEqualTo(3);
    assertThat(flags(file, 6)).isEqualTo(5);
  }

  @Test
  void moreThanTheBufferHoldsIsWrittenInOrder() throws Exception {
    byte[][] values = new byte[2_500][];
    for (int i = 0; i < values.length; i++) {
      values[i] = message(TRIAL, 0, i);
    }
    ByteBuffer file = logged(values);
    for (int i = 0; i < values.length; i++) {
      assertThat(file.getLong(HEADER_BYTES + i * RECORD_BYTES)).isEqualTo(i);
    }
  }

  @Test
  void anExistingFileIsNotOverwritten() throws Exception {
    logged();
    assertThatThrownBy(this::logged).isInstanceOf(FileAlreadyExistsException.class);
  }
}
