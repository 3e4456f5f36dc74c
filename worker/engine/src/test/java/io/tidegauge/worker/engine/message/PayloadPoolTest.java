package io.tidegauge.worker.engine.message;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.zip.Deflater;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PayloadPoolTest {
  @TempDir Path directory;

  private static int deflated(byte[] bytes) {
    Deflater deflater = new Deflater();
    deflater.setInput(bytes);
    deflater.finish();
    int n = deflater.deflate(new byte[bytes.length * 2]);
    deflater.end();
    return n;
  }

  @Test
  void theSameSeedGivesTheSameBodies() {
    PayloadPool a = PayloadPool.seeded(1, 1_000, 0.5, 8);
    PayloadPool b = PayloadPool.seeded(1, 1_000, 0.5, 8);
    PayloadPool other = PayloadPool.seeded(2, 1_000, 0.5, 8);
    assertThat(b.newValue(9, 0, 7)).isEqualTo(a.newValue(9, 0, 7));
    assertThat(other.newValue(9, 0, 7)).isNotEqualTo(a.newValue(9, 0, 7));
  }

  @Test
  void theRandomShareCannotBeCompressed() {
    for (double share : new double[] {0, 0.25, 1}) {
      byte[] value = PayloadPool.seeded(1, 10_048, share, 1).newValue(9, 0, 0);
      assertThat(deflated(value)).isBetween((int) (10_000 * share), (int) (10_000 * share) + 200);
    }
  }

  @Test
  void aFileIsCutRoundAndRound() throws Exception {
    Path file = directory.resolve("payload");
    Files.writeString(file, "abcde");
    PayloadPool pool = PayloadPool.fromFile(file, 48 + 3, 3);
    StringBuilder all = new StringBuilder();
    for (int i = 0; i < 3; i++) {
      all.append(new String(pool.newValue(9, 0, i), 48, 3, StandardCharsets.US_ASCII));
    }
    assertThat(all).hasToString("abcdeabcd");
  }

  @Test
  void anEmptyFileIsRefused() throws Exception {
    Path file = Files.createFile(directory.resolve("empty"));
    assertThatThrownBy(() -> PayloadPool.fromFile(file, 100, 3)).isInstanceOf(IOException.class);
  }

  @Test
  void thePoolIsBounded() {
    PayloadPool pool = PayloadPool.seeded(1, 1 << 20, 0, 1_000);
    assertThat(pool.size()).isBetween(1, 17);
  }

  @Test
  void messagesOfSeveralSizesAreWholeAndTellTheirSize() {
    PayloadPool pool = PayloadPool.seeded(1, new int[] {48, 1_000, 100}, 1);
    assertThat(pool.isMixed()).isTrue();
    assertThat(pool.messageBytes()).isEqualTo(383);
    assertThat(pool.bytesOf(3, 1_148)).isEqualTo(1_148);
    int[] expected = {48, 1_000, 100};
    for (int body = 0; body < 3; body++) {
      byte[] value = pool.newValue(9, 3, body);
      assertThat(value).hasSize(expected[body]);
      assertThat(MessageHeader.totalLength(value, 0)).isEqualTo(expected[body]);
      int crc = MessageHeader.bodyCrc(value, 0);
      assertThat(pool.matches(body, crc, value, 0, value.length)).isTrue();
      assertThat(MessageHeader.isBodyIntact(value, 0, value.length)).isTrue();
    }
    PayloadPool alike = PayloadPool.seeded(1, 100, 1, 3);
    assertThat(alike.isMixed()).isFalse();
    assertThat(alike.bytesOf(3, 0)).isEqualTo(300);
  }

  @Test
  void eachLineOfAFileIsABody(@TempDir Path directory) throws IOException {
    Path file = directory.resolve("orders.jsonl");
    Files.writeString(file, "{\"id\":1}\r\n\n{\"id\":22}\n{\"id\":333}");
    PayloadPool pool = PayloadPool.given(file);
    assertThat(pool.size()).isEqualTo(3);
    assertThat(pool.isMixed()).isTrue();
    byte[] value = pool.newValue(9, 0, 1);
    assertThat(new String(value, 48, value.length - 48, StandardCharsets.UTF_8))
        .isEqualTo("{\"id\":22}");
    Files.writeString(file, "\n\r\n");
    assertThatThrownBy(() -> PayloadPool.given(file)).hasMessageContaining("is empty");
  }

  @Test
  void eachFileOfADirectoryIsABody(@TempDir Path directory) throws IOException {
    Files.write(directory.resolve("b.bin"), new byte[] {1, '\n', 2});
    Files.write(directory.resolve("a.bin"), new byte[] {9});
    Files.write(directory.resolve("empty"), new byte[0]);
    Files.write(directory.resolve(".hidden"), new byte[] {7, 7});
    PayloadPool pool = PayloadPool.given(directory);
    assertThat(pool.size()).isEqualTo(2);
    assertThat(pool.isMixed()).isTrue();
    assertThat(pool.newValue(9, 0, 0)).hasSize(49).endsWith(9);
    assertThat(pool.newValue(9, 0, 1)).hasSize(51).endsWith(1, '\n', 2);
    Files.write(directory.resolve("large"), new byte[(int) PayloadPool.POOL_BYTES_MAX]);
    assertThatThrownBy(() -> PayloadPool.given(directory))
        .hasMessageContaining("large has more than the 16777212 bytes that are kept");
  }

  @Test
  void theSmallestMessageIsAllHeader() {
    PayloadPool pool = PayloadPool.seeded(1, MessageHeader.BYTES, 1, 4);
    byte[] value = pool.newValue(9, 3, 2);
    MessageHeader.writeMessage(value, 5, 6);
    assertThat(pool.matches(2, MessageHeader.bodyCrc(value, 0), value, 0, 48)).isTrue();
  }

  @Test
  void theHeaderIsLittleEndianAndReadsBack() {
    PayloadPool pool = PayloadPool.seeded(1, 100, 1, 4);
    byte[] value = pool.newValue(0x1122334455667788L, 3, 2);
    MessageHeader.writeMessage(value, 5, 6);
    assertThat(value[0]).isEqualTo((byte) 'T');
    assertThat(value[8]).isEqualTo((byte) 0x88);
    assertThat(MessageHeader.trialId(value, 0)).isEqualTo(0x1122334455667788L);
    assertThat(MessageHeader.producer(value, 0)).isEqualTo(3);
    assertThat(MessageHeader.sequence(value, 0)).isEqualTo(5);
    assertThat(MessageHeader.intendedNs(value, 0)).isEqualTo(6);
    assertThat(MessageHeader.totalLength(value, 0)).isEqualTo(100);
    assertThat(MessageHeader.bodyIndex(value, 0)).isEqualTo(2);
    assertThat(MessageHeader.headerCrc(value, 0)).isEqualTo(MessageHeader.checksum(value, 0));
    for (int i = 8; i < 48; i++) {
      value[i] ^= 1;
      assertThat(MessageHeader.headerCrc(value, 0)).isNotEqualTo(MessageHeader.checksum(value, 0));
      value[i] ^= 1;
    }
  }
}
