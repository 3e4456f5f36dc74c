"""How late readers caught up, in sentences. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from tidegauge.model.late_readers import FROM_DEVICE_SHARE_MIN, PHASES, DeviceReads
from tidegauge.model.trial import CatchUp, Latency
from tidegauge.statistics.rounding import short

_MORE_THAN_ONCE = 1.1
_UNITS = (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10))


def size_words(size_bytes: float) -> str:
    """A size with three significant digits: "2.1 GiB"."""
    for name, unit in _UNITS:
        if size_bytes >= unit:
            return f"{size_bytes / unit:.3g} {name}"
    return f"{size_bytes:.0f} B"


def reads_sentence(reads: DeviceReads) -> str:
    """Whether the backlog came from the device, by what the servers were counted to read."""
    if reads.share is None:
        return f"device reads are not known ({reads.unknown or 'there was no backlog'}): reads may have come from cache"
    if reads.from_device:
        read = size_words(reads.share * reads.backlog_bytes)
        more = ": newer messages too, or some again" if reads.share > _MORE_THAN_ONCE else ""
        return f"device reads: {read} of {size_words(reads.backlog_bytes)} backlog ({reads.share:.0%}{more})"
    if reads.share >= FROM_DEVICE_SHARE_MIN:
        read = size_words(reads.share * reads.backlog_bytes)
        return (
            f"DOUBTFUL: the servers read {read} from the device, which may be their own program code; only a larger "
            "backlog tells where it came from"
        )
    return (
        f"DOUBTFUL: {reads.share:.0%} of the backlog was read from the device, the rest from cache; only a backlog "
        "larger than the servers' memory tells how fast it comes from disk"
    )


def chase_sentence(found: CatchUp) -> str:
    """How long the late readers took, and how fast; or that they never got there, with the slope."""
    backlog = f"a backlog of {found.backlog_msgs:,} messages ({size_words(found.backlog_bytes)})"
    if found.chase_s is None:
        return (
            f"never drained in {short(found.watched_s)} s: of {backlog} {found.left_msgs:,} are left, {_slope(found)}"
        )
    return (
        f"{backlog} was gone {short(found.chase_s)} s after its readers began, shrinking by "
        f"{found.drain_msgs_per_s:,.0f} msg/s ({short(found.drain_bytes_per_s / 1e6)} MB/s); at most "
        f"{found.peak_read_msgs_per_s:,.0f} msg/s were read"
    )


def _slope(found: CatchUp) -> str:
    slope = found.slope
    if slope is None:
        return f"{'growing' if found.drain_msgs_per_s < 0 else 'shrinking'} by {abs(found.drain_msgs_per_s):,.0f} msg/s"
    doing = "growing" if slope.per_s > 0 else "shrinking"
    low, high = sorted((abs(slope.low_per_s), abs(slope.high_per_s)))
    if slope.low_per_s < 0 < slope.high_per_s:
        return f"changing by {slope.per_s:,.0f} msg/s (95%: {slope.low_per_s:,.0f} to {slope.high_per_s:,.0f})"
    return f"{doing} by {abs(slope.per_s):,.0f} msg/s (95%: {low:,.0f} to {high:,.0f})"


def phases_sentence(what: str, found: CatchUp, latencies: Sequence[Latency | None]) -> str:
    """A latency before, during and after; the p50 where samples do not suffice for the p99. "" with nothing at all."""
    seen = [(name, one) for name, one in zip(PHASES, latencies, strict=True) if found.phase(name).seconds > 0]
    told = [(name, one) for name, one in seen if one is not None and one.p50_ms is not None]
    if not told:
        return ""
    percentile = "p99" if all(one.p99_ms is not None for _, one in told) else "p50"
    values = [f"{short((one.p99_ms if percentile == 'p99' else one.p50_ms) or 0.0)} ms {name}" for name, one in told]
    return f"{what} {percentile}: {', '.join(values)}"


def publish_sentence(found: CatchUp) -> str:
    """The publish response in each phase."""
    return phases_sentence("publish response", found, [found.phase(name).response for name in PHASES])


def tailing_sentence(found: CatchUp) -> str:
    """The end-to-end latency of readers that keep up in each phase; "" without any."""
    tailing = [found.phase(name).tailing_end_to_end for name in PHASES]
    return phases_sentence("end-to-end of readers that keep up", found, tailing)
