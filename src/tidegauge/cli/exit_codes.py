"""What the command ends with, beside the codes that errors carry (see `tidegauge.errors`)."""

from __future__ import annotations

EXIT_GOOD, EXIT_FAILED, EXIT_INVALID, EXIT_THRESHOLD, EXIT_REFUTED, EXIT_INTERRUPTED = 0, 1, 3, 4, 5, 130
