package io.tidegauge.worker.drivers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.interfaces.ECPrivateKey;
import java.security.spec.ECGenParameterSpec;
import java.util.Arrays;
import org.bouncycastle.asn1.ASN1ObjectIdentifier;
import org.bouncycastle.asn1.sec.SECObjectIdentifiers;
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
  void bothFormsOfAnEllipticCurvesKeyAreRead() throws Exception {
    KeyPairGenerator generator = KeyPairGenerator.getInstance("EC");
    generator.initialize(new ECGenParameterSpec("secp256r1"));
    ECPrivateKey own = (ECPrivateKey) generator.generateKeyPair().getPrivate();
    ASN1ObjectIdentifier curve = SECObjectIdentifiers.secp256r1;
    byte[] sec1 = new org.bouncycastle.asn1.sec.ECPrivateKey(256, own.getS(), curve).getEncoded();
    // As openssl ecparam -genkey writes it.
    String file =
        Files.writeString(
                directory.resolve("ec.pem"),
                Pem.block("EC PARAMETERS", curve.getEncoded()) + Pem.block("EC PRIVATE KEY", sec1))
            .toString();
    ECPrivateKey found = (ECPrivateKey) Pem.privateKey(KEY, file, "EC");
    assertThat(found.getS()).isEqualTo(own.getS());
    assertThat(found.getParams().getOrder()).isEqualTo(own.getParams().getOrder());
    assertThat(Pem.privateKey(KEY, file("PRIVATE KEY", own.getEncoded()), "EC")).isEqualTo(own);
  }

  @Test
  void aKeyOfAnotherKindThanTheCertificateIsRefused() throws Exception {
    String wrong = file("PRIVATE KEY", rsa().getPrivate().getEncoded());
    assertThatThrownBy(() -> Pem.privateKey(KEY, wrong, "EC"))
        .hasMessage(KEY + ": the key in " + wrong + " is damaged or no EC key");
  }

  @Test
  void anEncryptedKeyOfAnOlderFormIsRecognised() throws Exception {
    String text = Pem.block("RSA PRIVATE KEY", new byte[100]);
    String headers = "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,0123456789ABCDEF\n\n";
    Path path = directory.resolve("old.pem");
    Files.writeString(path, text.replaceFirst("\n", "\n" + headers));
    assertThatThrownBy(() -> Pem.privateKey(KEY, path.toString(), "RSA"))
        .hasMessageContaining("holds an encrypted key")
        .hasMessageContaining("openssl pkcs8 -topk8 -nocrypt");
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
