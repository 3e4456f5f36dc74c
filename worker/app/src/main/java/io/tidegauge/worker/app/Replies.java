package io.tidegauge.worker.app;

import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.tidegauge.worker.api.AccessException;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.NoTopicException;
import io.tidegauge.worker.api.Secrets;
import io.tidegauge.worker.api.SettingsException;
import io.tidegauge.worker.engine.figures.ErrorLog;
import java.util.Locale;

/** Answers calls, and turns what went wrong into a status with a one-line message. */
final class Replies {
  /** Work whose result answers a call. */
  interface Work<A> {
    A run() throws DriverException, InterruptedException;
  }

  /** Work whose answer only says that it was done. */
  interface Task {
    void run() throws DriverException, InterruptedException;
  }

  /** Takes the parts of an answer, each once the caller has room for it. */
  interface Parts<A> {
    void add(A part) throws InterruptedException;
  }

  /** Work whose answer comes in parts. */
  interface PartWork<A> {
    void run(Parts<A> parts) throws DriverException, InterruptedException;
  }

  /**
   * A trailer that says what was refused: "topic" by a system, "producer settings" and "consumer
   * settings" by its client.
   */
  static final Metadata.Key<String> REFUSED =
      Metadata.Key.of("tidegauge-refused", Metadata.ASCII_STRING_MARSHALLER);

  private static final long ROOM_WAIT_MS = 1;

  private Replies() {}

  /** Runs the work and sends the parts of its answer. */
  static <A> void stream(StreamObserver<A> to, PartWork<A> work) {
    ServerCallStreamObserver<A> observer = (ServerCallStreamObserver<A>) to;
    // With a handler, what is sent to a caller who has gone is dropped, not an error.
    observer.setOnCancelHandler(() -> {});
    Object done =
        succeeds(
            to,
            Status.FAILED_PRECONDITION,
            () -> {
              work.run(part -> send(observer, part));
              return true;
            });
    if (done != null) {
      observer.onCompleted();
    }
  }

  /** A slow caller must not make the worker keep what it has not taken. */
  private static <A> void send(ServerCallStreamObserver<A> to, A part) throws InterruptedException {
    while (!to.isReady() && !to.isCancelled()) {
      Thread.sleep(ROOM_WAIT_MS);
    }
    to.onNext(part);
  }

  /**
   * Runs the work and sends its result.
   *
   * @param onDriverError the status if the system can't do what was asked
   */
  static <A> void answer(StreamObserver<A> to, Status onDriverError, Work<A> work) {
    A result = succeeds(to, onDriverError, work);
    if (result != null) {
      to.onNext(result);
      to.onCompleted();
    }
  }

  /** The same for work that fails where the trial is not in the state for it. */
  static <A> void answer(StreamObserver<A> to, Work<A> work) {
    answer(to, Status.FAILED_PRECONDITION, work);
  }

  /** Runs such work, which has no result, and sends the answer. */
  static <A> void done(StreamObserver<A> to, A answer, Task work) {
    answer(
        to,
        () -> {
          work.run();
          return answer;
        });
  }

  /** The result of the work; null if it failed, which the caller has then been told. */
  private static <R> R succeeds(StreamObserver<?> to, Status onDriverError, Work<R> work) {
    try {
      return work.run();
    } catch (NoTopicException e) {
      Metadata trailers = new Metadata();
      trailers.put(REFUSED, "topic");
      fail(to, onDriverError, e.refusal(), trailers);
    } catch (SettingsException e) {
      Metadata trailers = new Metadata();
      trailers.put(REFUSED, e.role().name().toLowerCase(Locale.ROOT) + " settings");
      fail(to, Status.INVALID_ARGUMENT, e, trailers);
    } catch (DriverException e) {
      fail(to, onDriverError, e, new Metadata());
    } catch (IllegalArgumentException e) {
      fail(to, Status.INVALID_ARGUMENT, e.getMessage());
    } catch (IllegalStateException e) {
      fail(to, Status.FAILED_PRECONDITION, e.getMessage());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      fail(to, Status.CANCELLED, "the call was interrupted");
    } catch (RuntimeException | LinkageError | OutOfMemoryError e) {
      e.printStackTrace();
      fail(to, Status.INTERNAL, "the worker failed: " + ErrorLog.describe(e));
    }
    return null;
  }

  private static void fail(
      StreamObserver<?> to, Status onDriverError, DriverException e, Metadata trailers) {
    if (e instanceof AccessException) {
      // Its own status: whoever waits for a system to become ready need not wait for this one.
      fail(to, Status.PERMISSION_DENIED, e.getMessage(), trailers);
    } else {
      fail(to, onDriverError, withCause(e), trailers);
    }
  }

  static void fail(StreamObserver<?> to, Status status, String message) {
    fail(to, status, message, new Metadata());
  }

  private static void fail(StreamObserver<?> to, Status status, String message, Metadata trailers) {
    String text = message == null ? "no reason known" : Secrets.hide(message);
    String line = text.replaceAll("\\s*\\R\\s*", " ");
    to.onError(status.withDescription(line).asRuntimeException(trailers));
  }

  private static String withCause(DriverException e) {
    Throwable cause = e.getCause();
    String message = String.valueOf(e.getMessage());
    return cause == null || isNamed(cause, message)
        ? message
        : message + " (" + ErrorLog.describe(cause) + ")";
  }

  /** Whether a message has the words of a cause already, or of what that wraps. */
  private static boolean isNamed(Throwable cause, String message) {
    for (Throwable one = cause; one != null; one = one.getCause()) {
      if (one.getMessage() != null && message.contains(one.getMessage().strip())) {
        return true;
      }
    }
    return false;
  }
}
