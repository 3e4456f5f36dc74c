package io.tidegauge.worker.app;

import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import io.tidegauge.worker.api.AccessException;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.Secrets;
import io.tidegauge.worker.engine.figures.ErrorLog;

/** Answers calls, and turns what went wrong into a status with a one-line message. */
final class Replies {
  /** Work whose result answers a call. */
  interface Work<A> {
    A run() throws DriverException, InterruptedException;
  }

  private Replies() {}

  /**
   * Runs the work and sends its result.
   *
   * @param onDriverError the status if the system can't do what was asked
   */
  static <A> void answer(StreamObserver<A> to, Status onDriverError, Work<A> work) {
    A result;
    try {
      result = work.run();
    } catch (AccessException e) {
      // Its own status: whoever waits for a system to become ready need not wait for this one.
      fail(to, Status.PERMISSION_DENIED, e.getMessage());
      return;
    } catch (DriverException e) {
      fail(to, onDriverError, withCause(e));
      return;
    } catch (IllegalArgumentException e) {
      fail(to, Status.INVALID_ARGUMENT, e.getMessage());
      return;
    } catch (IllegalStateException e) {
      fail(to, Status.FAILED_PRECONDITION, e.getMessage());
      return;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      fail(to, Status.CANCELLED, "the call was interrupted");
      return;
    } catch (RuntimeException | LinkageError | OutOfMemoryError e) {
      e.printStackTrace();
      fail(to, Status.INTERNAL, "the worker failed: " + ErrorLog.describe(e));
      return;
    }
    to.onNext(result);
    to.onCompleted();
  }

  static void fail(StreamObserver<?> to, Status status, String message) {
    String text = message == null ? "no reason known" : Secrets.hide(message);
    to.onError(status.withDescription(text.replaceAll("\\s*\\R\\s*", " ")).asRuntimeException());
  }

  private static String withCause(DriverException e) {
    Throwable cause = e.getCause();
    String reason = cause == null ? null : ErrorLog.describe(cause);
    String message = String.valueOf(e.getMessage());
    boolean named =
        cause == null || (cause.getMessage() != null && message.contains(cause.getMessage()));
    return named ? message : message + " (" + reason + ")";
  }
}
