package io.tidegauge.worker.app;

import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.Status;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;

/** Refuses every call that does not carry the secret. */
final class SecretCheck implements ServerInterceptor {
  static final Metadata.Key<String> KEY =
      Metadata.Key.of("tidegauge-secret", Metadata.ASCII_STRING_MARSHALLER);

  private final byte[] secret;

  SecretCheck(String secret) {
    this.secret = secret.getBytes(StandardCharsets.UTF_8);
  }

  @Override
  public <Q, A> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
    String given = headers.get(KEY);
    if (given == null || !MessageDigest.isEqual(secret, given.getBytes(StandardCharsets.UTF_8))) {
      call.close(
          Status.UNAUTHENTICATED.withDescription("the worker's secret is missing or wrong"),
          new Metadata());
      return new ServerCall.Listener<>() {};
    }
    return next.startCall(call, headers);
  }
}
