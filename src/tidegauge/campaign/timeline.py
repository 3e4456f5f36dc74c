"""The phases of a trial by time, so that each second can be told with the phase it belongs to."""

from __future__ import annotations

from tidegauge.model.load import SecondFigures

WARM_UP, MEASURE, DRAIN = "warm-up", "measure", "drain"


class Timeline:
    """Phases by the instant (monotonic ns) at which each begins. Instants may be told ahead of their time."""

    def __init__(self, phase: str, from_mono_ns: int) -> None:
        self._marks = [(from_mono_ns, phase)]

    def begin(self, phase: str, at_mono_ns: int) -> None:
        """`phase` begins at an instant later than all told so far."""
        self._marks.append((at_mono_ns, phase))

    def phase_of(self, figures: SecondFigures) -> str:
        """The phase in which the middle of a second lies."""
        middle_ns = (figures.from_mono_ns + figures.until_mono_ns) // 2
        found = self._marks[0][1]
        for at_mono_ns, phase in self._marks:
            if middle_ns < at_mono_ns:
                break
            found = phase
        return found
