package io.tidegauge.worker.drivers;

import io.tidegauge.worker.api.DriverException;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.PrivateKey;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.ArrayList;
import java.util.List;
import org.bouncycastle.asn1.DERNull;
import org.bouncycastle.asn1.pkcs.PKCSObjectIdentifiers;
import org.bouncycastle.asn1.pkcs.PrivateKeyInfo;
import org.bouncycastle.asn1.pkcs.RSAPrivateKey;
import org.bouncycastle.asn1.sec.ECPrivateKey;
import org.bouncycastle.asn1.x509.AlgorithmIdentifier;
import org.bouncycastle.asn1.x9.X9ObjectIdentifiers;
import org.bouncycastle.util.io.pem.PemObject;
import org.bouncycastle.util.io.pem.PemReader;
import org.bouncycastle.util.io.pem.PemWriter;

/** Certificates and private keys from PEM files. Messages name the setting and the file. */
final class Pem {
  private static final String KEY = "PRIVATE KEY";
  private static final String EC_KEY = "EC " + KEY;
  private static final String CONVERT =
      "turn it into PKCS 8 without a pass phrase: openssl pkcs8 -topk8 -nocrypt";

  private Pem() {}

  /** All certificates of a file, at least one. */
  static List<X509Certificate> certificates(String key, String path) throws DriverException {
    List<X509Certificate> found = new ArrayList<>();
    for (PemObject block : blocks(key, path)) {
      if (block.getType().endsWith("CERTIFICATE")) {
        found.add(certificate(key, path, block.getContent()));
      }
    }
    if (found.isEmpty()) {
      throw new DriverException(
          key + ": " + path + " has no PEM certificate (-----BEGIN CERTIFICATE-----)");
    }
    return found;
  }

  private static X509Certificate certificate(String key, String path, byte[] encoded)
      throws DriverException {
    try {
      return (X509Certificate)
          CertificateFactory.getInstance("X.509")
              .generateCertificate(new ByteArrayInputStream(encoded));
    } catch (CertificateException e) {
      throw new DriverException(key + ": " + path + " holds a certificate that is damaged", e);
    }
  }

  /** The file's private key, for the algorithm of the certificate that it belongs to. */
  static PrivateKey privateKey(String key, String path, String algorithm) throws DriverException {
    for (PemObject block : blocks(key, path)) {
      if (!block.getType().endsWith(KEY)) {
        continue;
      }
      // Keys of PKCS 1 and SEC 1 say in a header that they are encrypted.
      if (block.getType().startsWith("ENCRYPTED") || !block.getHeaders().isEmpty()) {
        throw new DriverException(key + ": " + path + " holds an encrypted key; " + CONVERT);
      }
      try {
        return KeyFactory.getInstance(algorithm)
            .generatePrivate(new PKCS8EncodedKeySpec(pkcs8(block)));
      } catch (GeneralSecurityException | IOException | RuntimeException e) {
        // Not as a cause: what it says may quote the key.
        throw new DriverException(
            key + ": the key in " + path + " is damaged or no " + algorithm + " key");
      }
    }
    throw new DriverException(
        key + ": " + path + " has no PEM private key (-----BEGIN PRIVATE KEY-----)");
  }

  /**
   * Fails if the file's private key is in the form of SEC 1, which Java does not read by itself.
   */
  static void refuseSec1(String key, String path) throws DriverException {
    if (blocks(key, path).stream().anyMatch(block -> block.getType().equals(EC_KEY))) {
      throw new DriverException(
          key + ": " + path + " holds a key of the form " + EC_KEY + "; " + CONVERT);
    }
  }

  /** The one form that Java reads by itself. */
  private static byte[] pkcs8(PemObject block) throws IOException {
    switch (block.getType()) {
      case "RSA " + KEY -> {
        AlgorithmIdentifier rsa =
            new AlgorithmIdentifier(PKCSObjectIdentifiers.rsaEncryption, DERNull.INSTANCE);
        return new PrivateKeyInfo(rsa, RSAPrivateKey.getInstance(block.getContent())).getEncoded();
      }
      case EC_KEY -> {
        ECPrivateKey key = ECPrivateKey.getInstance(block.getContent());
        AlgorithmIdentifier curve =
            new AlgorithmIdentifier(X9ObjectIdentifiers.id_ecPublicKey, key.getParametersObject());
        return new PrivateKeyInfo(curve, key).getEncoded();
      }
      default -> {
        return block.getContent();
      }
    }
  }

  /** Text of one PEM block. */
  static String block(String type, byte[] encoded) {
    StringWriter text = new StringWriter();
    try (PemWriter writer = new PemWriter(text)) {
      writer.writeObject(new PemObject(type, encoded));
    } catch (IOException e) {
      throw new IllegalStateException("writing to memory failed", e);
    }
    return text.toString();
  }

  private static List<PemObject> blocks(String key, String path) throws DriverException {
    List<PemObject> found = new ArrayList<>();
    try (PemReader reader =
        new PemReader(Files.newBufferedReader(Path.of(path), StandardCharsets.ISO_8859_1))) {
      for (PemObject block = reader.readPemObject();
          block != null;
          block = reader.readPemObject()) {
        found.add(block);
      }
      return found;
    } catch (NoSuchFileException e) {
      throw new DriverException(key + ": there is no file " + path);
    } catch (AccessDeniedException e) {
      throw new DriverException(key + ": no right to read " + path);
    } catch (IOException | RuntimeException e) {
      throw new DriverException(key + ": " + path + " can't be read: " + e.getMessage());
    }
  }
}
