package io.tidegauge.worker.app;

import com.google.protobuf.ByteString;
import java.nio.ByteBuffer;
import java.util.zip.DataFormatException;
import org.HdrHistogram.Histogram;

/** Reads encoded histograms. */
final class TestFigures {
  private TestFigures() {}

  static Histogram decode(ByteString bytes) {
    try {
      return Histogram.decodeFromCompressedByteBuffer(ByteBuffer.wrap(bytes.toByteArray()), 1);
    } catch (DataFormatException e) {
      throw new AssertionError(e);
    }
  }
}
