"""Each contender carries out a row once, and reports its figures by the keys of `table.FIGURES`."""

from __future__ import annotations

import contextlib
import random
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from side_by_side import omb, perf_tools
from side_by_side.perf_tools import Mark
from side_by_side.rows import BARE, KAFKA_TOOLS, OMB, TIDEGAUGE, Row, engine_threads
from side_by_side.stage import Product, Stage, Timing, ensure_product, order_for, product_of
from tidegauge.agent.api import ProcessSpec
from tidegauge.errors import RunFailedError, UserError
from tidegauge.hosts import procfs
from tidegauge.model.load import TotalFigures
from tidegauge.statistics.histograms import decode_histogram
from tidegauge.systems.jvm import java_process
from tidegauge.worker.client import GrpcWorker
from tidegauge.worker.launch import start_worker

BENCH = Path(__file__).parents[2] / "worker" / "bench" / "target" / "dist"
START_S_MAX = 60.0
DRAIN_S_MAX = 60.0
STOP_S_MAX = 10.0
POLL_S = 0.1
RATE_GUESS = 100_000.0
"""Messages a second of a row at full speed that nobody has measured yet."""
MORE_RECORDS = 1.5
"""Kafka's tools are given a number of records, no time: enough for them to be so much faster than was seen before."""
PATIENCE = 3.0
"""So many times the planned time Kafka's producers may take for their records; percentiles come at their end."""
PERCENTILES = {"p50": 50.0, "p99": 99.0, "p999": 99.9}
_QUIET = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
"""What the Kafka client logs would stand in the middle of what the bare loop prints."""
_FIGURE = re.compile(r"\b(from_ns|until_ns|messages|cpu_ns|gc_ns)=(\d+) ")
_ENGINE = re.compile(r": ([\d,.]+) msg/s, ([\d.]+) CPU-s per million, ([\d.]+) CPUs")
_ENGINE_GC = re.compile(r"gc pause ([\d.]+) ms")


def measure(stage: Stage, row: Row, contender: str, timing: Timing) -> dict[str, float]:
    """Let a contender carry out a row. Raises `RunFailedError`."""
    stage.peaks.clear()
    stage.calm(row, timing)
    if contender == TIDEGAUGE:
        figures = _tidegauge(stage, row, timing)
    elif contender == BARE:
        figures = _bare(stage, row, timing)
    elif contender == KAFKA_TOOLS:
        figures = _kafka_tools(stage, row, timing)
    elif contender == OMB:
        figures = _omb(stage, row, timing)
    else:
        figures = _engine(stage, row, timing, engine_threads(contender))
    if row.system != "kafka":
        # Kafka only idles then.
        figures.pop("server_cpus", None)
    rate = 1000 * figures.get("kmsgs_per_s", 0.0)
    stage.rates[row.name] = max(rate, stage.rates.get(row.name, 0.0))
    return figures


def check_built() -> None:
    """Raise `UserError` if the bare loop is not built."""
    if not any(BENCH.glob("*.jar")):
        raise UserError(f"The bare client loop is not built ({BENCH} has no jars).", "Run `make build`.")


def _tidegauge(stage: Stage, row: Row, timing: Timing) -> dict[str, float]:
    worker = start_worker(stage.host, row.system, stage.logs)
    try:
        pid = {"worker": worker.facts.pid}
        settings = worker.prepare(order_for(stage, row, stage.new_topic()))
        stage.products.setdefault(row.name, product_of(worker, settings))
        from_ns = worker.start(in_s=0.5) + round(timing.warmup_s * 1e9)
        until_ns = from_ns + round(timing.measure_s * 1e9)
        worker.set_window(from_ns, until_ns)
        stage.wait_until(until_ns + 200_000_000, pid)
        worker.stop_producers(STOP_S_MAX)
        totals = _drained(stage, worker, pid)
        use = stage.use(from_ns, until_ns, ("worker",))
        worker.finish(delete_topics=True)
    finally:
        worker.close()
    return {**use, **tidegauge_figures(totals, scheduled=row.msgs_per_s > 0)}


def _drained(stage: Stage, worker: GrpcWorker, pid: Mapping[str, int]) -> TotalFigures:
    deadline_s = time.monotonic() + DRAIN_S_MAX
    while True:
        totals = worker.totals()
        if all(subscription.backlog == 0 for subscription in totals.subscriptions):
            return totals
        if time.monotonic() > deadline_s:
            behind = max(subscription.backlog for subscription in totals.subscriptions)
            raise RunFailedError(f"consumers were still {behind:,} messages behind after {DRAIN_S_MAX:.0f} s.")
        time.sleep(0.2)
        stage.look(pid)


def tidegauge_figures(totals: TotalFigures, scheduled: bool) -> dict[str, float]:
    """The figures of a trial's window. Raises `RunFailedError` if messages were lost or damaged.

    Without a schedule nothing can be late, and a response is a service.
    """
    window = totals.window
    wrong = (
        sum(subscription.lost + subscription.duplicated + subscription.corrupt for subscription in totals.subscriptions)
        + totals.failed
    )
    if wrong or not window.acked_within:
        raise RunFailedError(f"{wrong:,} messages failed, lost, duplicated or corrupt, {window.acked_within:,} sent.")
    seconds = (window.until_mono_ns - window.from_mono_ns) / 1e9
    found = {
        "kmsgs_per_s": window.acked_within / seconds / 1e3,
        "cpu_s_per_million": window.worker_cpu_ns / window.acked_within / 1e3,
        "gc_percent": 100 * window.gc_pause_ns / 1e9 / seconds,
    }
    series = [("service_ms", window.service, 1e6)]
    series += [("response_ms", window.response, 1e6), ("delay_us", window.delay, 1e3)] if scheduled else []
    series += [("end_to_end_ms", subscription.end_to_end, 1e6) for subscription in totals.subscriptions[:1]]
    for name, encoded, unit_ns in series:
        histogram = decode_histogram(encoded)
        if histogram.count:
            found |= {f"{name}_{key}": histogram.percentile_ns(share) / unit_ns for key, share in PERCENTILES.items()}
    return found


def _bench_process(
    stage: Stage, name: str, product: Product, main: str, arguments: Mapping[str, object]
) -> ProcessSpec:
    """A program of worker/bench as the product starts its worker: same Java, flags, environment, timer slack."""
    values = (f"{key}={value}" for key, value in arguments.items())
    command = (*product.jvm_flags, _QUIET, "-cp", f"{BENCH}/*", f"io.tidegauge.worker.bench.{main}", *values)
    path = stage.logs / f"{name}.log"
    path.unlink(missing_ok=True)
    home = product.java.parents[1]
    spec = java_process(name, home, command, cwd=stage.logs, log_path=path, follow_gc=False)
    return replace(spec, env=product.environment, timer_slack_ns=1)


@contextlib.contextmanager
def _running(stage: Stage, specs: Sequence[ProcessSpec]) -> Iterator[dict[str, int]]:
    """Processes by name with their numbers; ended with the block."""
    pids: dict[str, int] = {}
    try:
        for spec in specs:
            pids[spec.name] = stage.host.start(spec).pid
        yield pids
    finally:
        for name in pids:
            stage.host.stop(name)


def _bare(stage: Stage, row: Row, timing: Timing) -> dict[str, float]:
    arguments = {
        "connect.bootstrap.servers": stage.bootstrap,
        **_clients(row),
        "partitions": row.partitions,
        "producers": row.producers,
        "consumers": row.consumers,
        "rate": row.msgs_per_s,
        **_seconds(timing),
    }
    spec = _bench_process(stage, "bare-loop", ensure_product(stage, row), "KafkaBareLoop", arguments)
    with _running(stage, [spec]) as pids:
        stage.await_end(spec.name, pids[spec.name], timing.warmup_s + timing.measure_s + START_S_MAX)
    found = bare_figures(stage.log_of(spec.name))
    return {**stage.use(int(found.pop("from_ns")), int(found.pop("until_ns")), (spec.name,)), **found}


def _clients(row: Row) -> dict[str, object]:
    client = row.workload.client
    return {
        "bytes": row.message_bytes,
        "batch_bytes": client.batch_bytes_max,
        "batch_delay_us": round(1000 * client.batch_delay_ms_max),
        "in_flight": row.workload.in_flight_messages(),
        "receive_queue": client.receive_queue_messages,
    }


def _seconds(timing: Timing) -> dict[str, object]:
    """The programs of worker/bench count in whole seconds."""
    return {"warm": max(1, round(timing.warmup_s)), "seconds": max(1, round(timing.measure_s))}


def bare_figures(log: str) -> dict[str, float]:
    """What the bare loop printed, with its window. Raises `RunFailedError` if that is not there, or it did nothing."""
    figures = {key: int(value) for key, value in _FIGURE.findall(log)}
    if len(figures) < 5 or not figures["messages"]:
        raise RunFailedError("the bare loop received no message.")
    seconds = (figures["until_ns"] - figures["from_ns"]) / 1e9
    return {
        "from_ns": figures["from_ns"],
        "until_ns": figures["until_ns"],
        "kmsgs_per_s": figures["messages"] / seconds / 1e3,
        "cpu_s_per_million": figures["cpu_ns"] / figures["messages"] / 1e3,
        "gc_percent": 100 * figures["gc_ns"] / 1e9 / seconds,
    }


def _engine(stage: Stage, row: Row, timing: Timing, threads: int) -> dict[str, float]:
    """Each thread has a topic of its own."""
    seconds = _seconds(timing)
    arguments = {"driver": "inline", "topics": threads, "bytes": row.message_bytes, **seconds}
    spec = _bench_process(stage, "engine", ensure_product(stage, row), "EngineBench", arguments)
    with _running(stage, [spec]) as pids:
        stage.await_end(spec.name, pids[spec.name], timing.warmup_s + timing.measure_s + START_S_MAX)
    # It ends right after its window.
    until_ns = time.monotonic_ns()
    use = stage.use(until_ns - round(timing.measure_s * 1e9), until_ns, (spec.name,))
    return {**use, **engine_figures(stage.log_of(spec.name), float(str(seconds["seconds"])))}


def engine_figures(log: str, seconds: float) -> dict[str, float]:
    """What the engine's bench printed. Raises `RunFailedError` if that is not there."""
    line, gc = _ENGINE.search(log), _ENGINE_GC.search(log)
    if not line or not gc:
        raise RunFailedError("the engine's bench printed no figures.")
    return {
        "kmsgs_per_s": float(line.group(1).replace(",", "")) / 1e3,
        "cpu_s_per_million": float(line.group(2)),
        "gc_percent": float(gc.group(1)) / seconds / 10,
    }


@dataclass
class _Tool:
    """One of Kafka's tools while it runs, with a mark for each line that holds a count."""

    spec: ProcessSpec
    pid: int
    producer: bool
    lines: int = 0
    marks: list[Mark] = field(default_factory=list)

    def follow(self, log: str) -> None:
        """Note a new line, and the CPU time that was used when it came."""
        stat = procfs.read_stat(self.pid)
        lines, messages = perf_tools.produced(log) if self.producer else perf_tools.consumed(log)
        if lines > self.lines and stat is not None:
            self.lines = lines
            self.marks.append(Mark(time.monotonic_ns(), messages, stat.cpu_ticks / procfs.TICKS_PER_S))


def _kafka_tools(stage: Stage, row: Row, timing: Timing) -> dict[str, float]:
    settings = ensure_product(stage, row).settings
    topic = stage.new_topic()
    _topic_command(stage, topic, "--create", "--partitions", str(row.partitions), "--replication-factor", "1")
    known = row.msgs_per_s or stage.rates.get(row.name) or RATE_GUESS
    rate = row.msgs_per_s or MORE_RECORDS * known
    # The window ends with a line, which comes up to a second late.
    records = perf_tools.Records(
        total=round(rate * (timing.warmup_s + timing.measure_s + 2) / row.producers),
        warmup=round(known * timing.warmup_s / row.producers),
    )
    arguments = perf_tools.producer_arguments(row, stage.bootstrap, topic, records, settings)
    producers = [_tool(stage, f"producer-{n}", perf_tools.PRODUCER, arguments) for n in range(row.producers)]
    arguments = perf_tools.consumer_arguments(stage.bootstrap, topic, settings)
    consumers = [_tool(stage, f"consumer-{n}", perf_tools.CONSUMER, arguments) for n in range(row.consumers)]
    with _running(stage, consumers) as receiving, _running(stage, producers) as sending:
        senders = [_Tool(spec, sending[spec.name], True) for spec in producers]
        receivers = [_Tool(spec, receiving[spec.name], False) for spec in consumers]
        from_ns, until_ns = _follow(stage, senders, receivers, timing)
        use = stage.use(from_ns, until_ns, [*sending, *receiving])
    figures = _tools_figures(stage, senders, receivers, from_ns, until_ns)
    _topic_command(stage, topic, "--delete")
    return {**use, **figures}


def _tool(stage: Stage, name: str, main: str, arguments: Sequence[str]) -> ProcessSpec:
    assert stage.tools is not None
    command = (*perf_tools.JVM_FLAGS, "-cp", f"{stage.tools.directory}/*", main, *arguments)
    path = stage.logs / f"{name}.log"
    path.unlink(missing_ok=True)
    path.with_name(f"{name}-gc.log").unlink(missing_ok=True)
    return java_process(name, stage.tools.java_home, command, cwd=stage.logs, log_path=path, stop_grace_s=STOP_S_MAX)


def _omb(stage: Stage, row: Row, timing: Timing) -> dict[str, float]:
    """Take its CPU time at its own lines, as the rate is that of the seconds between two of them; then end it."""
    product = ensure_product(stage, row)
    assert stage.omb is not None
    lines_before = max(1, omb.count_interval_lines(timing.warmup_s))
    lines = lines_before + omb.count_interval_lines(timing.measure_s)
    payload = stage.logs / "payload"
    payload.write_bytes(random.Random(row.name).randbytes(row.message_bytes))
    files = {
        "driver.yaml": omb.driver_file(stage.bootstrap, product.settings, order_for(stage, row, "").topic_settings),
        "workload.yaml": omb.workload_file(row, omb.LINE_S * lines, str(payload)),
    }
    for name, text in files.items():
        stage.logs.joinpath(name).write_text(text)
    command = (*omb.JVM_FLAGS, "-cp", f"{stage.omb}/lib/*", omb.MAIN, "--drivers", *files)
    path = stage.logs / "omb.log"
    path.unlink(missing_ok=True)
    spec = java_process("omb", product.java.parents[1], command, cwd=stage.logs, log_path=path, follow_gc=False)
    with _running(stage, [spec]) as pids:
        marks, seen = _follow_omb(stage, pids, lines_before, lines)
        use = stage.use(marks[0].mono_ns, marks[-1].mono_ns, (spec.name,))
    _topic_command(stage, omb.TOPICS, "--delete", "--if-exists")
    window = perf_tools.span(marks, marks[0].mono_ns, marks[-1].mono_ns)
    if window is None or not window.messages:
        raise RunFailedError("OMB sent nothing.")
    # Percentiles of several lines can't be merged: the highest stands for them.
    measured = [line.figures for line in seen[lines_before:lines]]
    return {
        **use,
        **{key: max(line[key] for line in measured) for key in measured[0]},
        "kmsgs_per_s": window.msgs_per_s / 1e3,
        "cpu_s_per_million": window.cpu_s / window.messages * 1e6,
    }


def _follow_omb(
    stage: Stage, pids: Mapping[str, int], lines_before: int, lines: int
) -> tuple[list[Mark], list[omb.IntervalLine]]:
    """Follow its lines until there are so many: a mark for each from the last before the window on, and all lines."""
    ((name, pid),) = pids.items()
    marks: list[Mark] = []
    messages = 0.0
    deadline_s = time.monotonic() + START_S_MAX + omb.LINE_S * lines
    while True:
        if time.monotonic() > deadline_s or not stage.host.status(name).running:
            raise RunFailedError(f"OMB printed too few lines{stage.last_words(name)}.")
        time.sleep(POLL_S)
        stage.look(pids)
        seen = omb.read_interval_lines(stage.log_of(name))
        stat = procfs.read_stat(pid)
        if len(seen) < lines_before + len(marks) or stat is None:
            continue
        now_ns = time.monotonic_ns()
        if marks:
            messages += seen[-1].msgs_per_s * (now_ns - marks[-1].mono_ns) / 1e9
        marks.append(Mark(now_ns, round(messages), stat.cpu_ticks / procfs.TICKS_PER_S))
        if len(seen) >= lines:
            return marks, seen


def clear_topics(stage: Stage) -> None:
    """Delete what a contender that failed has left; the next one would run out of disk for it."""
    _topic_command(stage, f"(generator|bare)-.*|{omb.TOPICS}", "--delete", "--if-exists")


def _topic_command(stage: Stage, topic: str, *arguments: str) -> None:
    spec = _tool(
        stage, "topics", perf_tools.TOPICS, ("--bootstrap-server", stage.bootstrap, "--topic", topic, *arguments)
    )
    with _running(stage, [spec]) as pids:
        stage.await_end(spec.name, pids[spec.name], START_S_MAX)


def _follow(stage: Stage, senders: list[_Tool], receivers: list[_Tool], timing: Timing) -> tuple[int, int]:
    """Follow all lines until producers have ended, or have had time enough; the window.

    It begins when the last producer has reported that its warm-up is over.
    """
    pids = {tool.spec.name: tool.pid for tool in (*senders, *receivers)}
    planned_s = timing.warmup_s + timing.measure_s
    deadline_s = time.monotonic() + START_S_MAX + PATIENCE * planned_s
    looked_s = 0.0
    while True:
        for tool in (*senders, *receivers):
            tool.follow(stage.log_of(tool.spec.name))
        now_s = time.monotonic()
        if now_s - looked_s >= 1.0:
            looked_s = now_s
            stage.look(pids)
            if not any(stage.host.status(tool.spec.name).running for tool in senders) or now_s > deadline_s:
                break
        time.sleep(POLL_S)
    begun = [tool.marks[0].mono_ns for tool in senders if tool.marks]
    if len(begun) < len(senders):
        words = stage.last_words(senders[0].spec.name)
        raise RunFailedError(f"a producer of Kafka's tools reported nothing after its warm-up{words}.")
    from_ns = max(begun)
    return from_ns, from_ns + round(timing.measure_s * 1e9)


def _tools_figures(
    stage: Stage, senders: list[_Tool], receivers: list[_Tool], from_ns: int, until_ns: int
) -> dict[str, float]:
    sent = [one for tool in senders if (one := perf_tools.span(tool.marks, from_ns, until_ns))]
    received = [one for tool in receivers if (one := perf_tools.span(tool.marks, from_ns, until_ns))]
    costs = (perf_tools.cpu_s_per_million(sent), perf_tools.cpu_s_per_million(received))
    if len(sent) < len(senders) or not received or None in costs:
        raise RunFailedError("Kafka's tools ended before their window did.")
    found = {
        "kmsgs_per_s": sum(one.msgs_per_s for one in sent) / 1e3,
        "cpu_s_per_million": sum(cost for cost in costs if cost is not None),
    }
    percentiles = [perf_tools.steady_percentiles_ms(stage.log_of(tool.spec.name)) for tool in senders]
    if all(percentiles):
        # Percentiles of several producers can't be merged: the slowest stands for them.
        found |= {f"service_ms_{key}": max(one[key] for one in percentiles) for key in PERCENTILES}
    return found
