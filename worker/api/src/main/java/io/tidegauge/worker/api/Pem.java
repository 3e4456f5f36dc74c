package io.tidegauge.worker.api;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
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
import java.util.Base64;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Certificates and private keys from PEM files. Messages name the setting and the file. */
final class Pem {
  private static final Pattern BLOCK =
      Pattern.compile("-----BEGIN ([A-Z0-9 ]+)-----([^-]*)-----END \\1-----");

  /**
   * version INTEGER 0, then SEQUENCE { OID rsaEncryption, NULL }: what PKCS 8 puts before PKCS 1.
   */
  private static final byte[] RSA_PREFIX =
      new byte[] {2, 1, 0, 48, 13, 6, 9, 42, -122, 72, -122, -9, 13, 1, 1, 1, 5, 0};

  private Pem() {}

  /** All certificates of a file, at least one. */
  static List<X509Certificate> certificates(String key, String path) throws DriverException {
    List<X509Certificate> found = new ArrayList<>();
    Matcher block = BLOCK.matcher(read(key, path));
    while (block.find()) {
      if (block.group(1).endsWith("CERTIFICATE")) {
        found.add(certificate(key, path, bytes(key, path, block.group(2))));
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
    Matcher block = BLOCK.matcher(read(key, path));
    while (block.find()) {
      byte[] encoded;
      switch (block.group(1)) {
        case "PRIVATE KEY" -> encoded = bytes(key, path, block.group(2));
        case "RSA PRIVATE KEY" -> encoded = wrapped(bytes(key, path, block.group(2)));
        case "EC PRIVATE KEY", "ENCRYPTED PRIVATE KEY" ->
            throw new DriverException(
                key
                    + ": "
                    + path
                    + " holds a key of the form "
                    + block.group(1)
                    + "; turn it into PKCS 8 without a pass phrase: openssl pkcs8 -topk8 -nocrypt");
        default -> {
          continue;
        }
      }
      try {
        return KeyFactory.getInstance(algorithm).generatePrivate(new PKCS8EncodedKeySpec(encoded));
      } catch (GeneralSecurityException e) {
        // Not as a cause: what it says may quote the key.
        throw new DriverException(
            key + ": the key in " + path + " is damaged or no " + algorithm + " key");
      }
    }
    throw new DriverException(
        key + ": " + path + " has no PEM private key (-----BEGIN PRIVATE KEY-----)");
  }

  /** Text of one PEM block. */
  static String block(String type, byte[] encoded) {
    return "-----BEGIN "
        + type
        + "-----\n"
        + Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(encoded)
        + "\n-----END "
        + type
        + "-----\n";
  }

  private static String read(String key, String path) throws DriverException {
    try {
      return Files.readString(Path.of(path), StandardCharsets.ISO_8859_1);
    } catch (NoSuchFileException e) {
      throw new DriverException(key + ": there is no file " + path);
    } catch (AccessDeniedException e) {
      throw new DriverException(key + ": no right to read " + path);
    } catch (IOException | IllegalArgumentException e) {
      throw new DriverException(key + ": " + path + " can't be read: " + e.getMessage());
    }
  }

  private static byte[] bytes(String key, String path, String base64) throws DriverException {
    try {
      return Base64.getMimeDecoder().decode(base64);
    } catch (IllegalArgumentException e) {
      throw new DriverException(key + ": " + path + " is damaged: its base 64 can't be read");
    }
  }

  /** PKCS 8 around a key of PKCS 1. */
  private static byte[] wrapped(byte[] rsa) {
    byte[] octets = der(4, rsa);
    return der(
        48,
        ByteBuffer.allocate(RSA_PREFIX.length + octets.length).put(RSA_PREFIX).put(octets).array());
  }

  /** A DER value with its tag and length. */
  private static byte[] der(int tag, byte[] content) {
    ByteBuffer all = ByteBuffer.allocate(content.length + 4);
    all.put((byte) tag);
    if (content.length < 0x80) {
      all.put((byte) content.length);
    } else if (content.length < 0x100) {
      all.put((byte) 0x81).put((byte) content.length);
    } else {
      all.put((byte) 0x82).putShort((short) content.length);
    }
    byte[] value = new byte[all.put(content).flip().remaining()];
    all.get(value);
    return value;
  }
}
