package io.tidegauge.worker.api;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PemTest {
  private static final String KEY = "tls.key.path";

  /** What stands before the PKCS 1 key in a PKCS 8 key of RSA with 2048 bits. */
  private static final int PKCS8_PREFIX_BYTES = 26;

  @TempDir private Path directory;

  private String file(String type, byte[] content) throws IOException {
    Path path = directory.resolve("some.pem");
    return Files.writeString(path, Pem.block(type, content)).toString();
  }

  private static KeyPair rsa() throws Exception {
    KeyPairGenerator generator = KeyPairGenerator.getInstance("RSA");
    generator.initialize(2048);
    return generator.generateKeyPair();
  }

  @Test
  void bothFormsOfAnRsaKeyAreRead() throws Exception {
    KeyPair pair = rsa();
    byte[] pkcs8 = pair.getPrivate().getEncoded();
    byte[] pkcs1 = Arrays.copyOfRange(pkcs8, PKCS8_PREFIX_BYTES, pkcs8.length);
    assertThat(Pem.privateKey(KEY, file("PRIVATE KEY", pkcs8), "RSA")).isEqualTo(pair.getPrivate());
    assertThat(Pem.privateKey(KEY, file("RSA PRIVATE KEY", pkcs1), "RSA"))
        .isEqualTo(pair.getPrivate());
  }

  @Test
  void whatIsNotUsableNamesSettingAndFile() throws Exception {
    String wrong = file("PRIVATE KEY", new byte[100]);
    assertThatThrownBy(() -> Pem.privateKey(KEY, wrong, "RSA"))
        .hasMessage(KEY + ": the key in " + wrong + " is damaged or no RSA key");
    assertThatThrownBy(() -> Pem.certificates("tls.ca.path", wrong))
        .hasMessageStartingWith("tls.ca.path: " + wrong + " has no PEM certificate");
    String encrypted = file("ENCRYPTED PRIVATE KEY", new byte[100]);
    assertThatThrownBy(() -> Pem.privateKey(KEY, encrypted, "RSA"))
        .hasMessageContaining("openssl pkcs8 -topk8 -nocrypt");
    String absent = directory.resolve("absent").toString();
    assertThatThrownBy(() -> Pem.certificates("tls.ca.path", absent))
        .hasMessage("tls.ca.path: there is no file " + absent);
    String damaged = file("CERTIFICATE", new byte[100]);
    assertThatThrownBy(() -> Pem.certificates("tls.ca.path", damaged))
        .hasMessageContaining("is damaged");
  }
}
