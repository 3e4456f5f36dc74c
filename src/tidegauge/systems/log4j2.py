"""A log4j2 configuration for servers that use it: plain lines on standard output. Pure."""

from __future__ import annotations

from collections.abc import Mapping


def log4j2_text(levels: Mapping[str, str]) -> str:
    """Everything from INFO on, with exceptions for the loggers named in `levels` (logger: level)."""
    loggers = "".join(f'    <Logger name="{name}" level="{level}"/>\n' for name, level in sorted(levels.items()))
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<Configuration status="WARN" shutdownHook="disable">\n'
        '  <Appenders><Console name="out" target="SYSTEM_OUT">\n'
        '    <PatternLayout pattern="%d{ISO8601} %-5level %c{1} [%t] %msg%n%throwable"/>\n'
        "  </Console></Appenders>\n"
        "  <Loggers>\n"
        f"{loggers}"
        '    <Root level="info"><AppenderRef ref="out"/></Root>\n'
        "  </Loggers>\n"
        "</Configuration>\n"
    )
