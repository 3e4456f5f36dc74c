"""JUnit XML, as CI systems read it: a case for every trial, finding, threshold or comparison.

A run's file holds a failure or an error exactly when its exit code is not 0: failures are what the systems did
(a threshold missed, messages lost), errors are what was not found out (a trial failed or INVALID, an open question).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from xml.etree import ElementTree

from tidegauge.model.trial import MeasuredResult, Validity
from tidegauge.numbers import in_unit
from tidegauge.report import fairness, thresholds
from tidegauge.report.facts import RunFacts
from tidegauge.statistics.figures import Shown, figures_shown
from tidegauge.store.read import StoredRun, StoredTrial
from tidegauge.thresholds import ThresholdOutcome

_NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class State(StrEnum):
    """What became of a case, by JUnit's element for it."""

    PASSED = "passed"
    FAILURE = "failure"
    ERROR = "error"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class JunitCase:
    """One line of a test report. `message` says why it did not pass; `output` is for a reader in any case."""

    name: str
    suite: str
    state: State = State.PASSED
    message: str = ""
    output: str = ""
    seconds: float = 0.0


def junit_document(name: str, cases: Sequence[JunitCase], properties: Mapping[str, str]) -> bytes:
    """The file: a suite for each `JunitCase.suite`, in order."""
    root = ElementTree.Element("testsuites", {"name": _clean_text(name), **_count_attributes(cases)})
    for suite in dict.fromkeys(case.suite for case in cases):
        cases_of_suite = [case for case in cases if case.suite == suite]
        element = ElementTree.SubElement(
            root, "testsuite", {"name": _clean_text(suite), **_count_attributes(cases_of_suite)}
        )
        properties_element = ElementTree.SubElement(element, "properties")
        for key, value in properties.items():
            ElementTree.SubElement(
                properties_element, "property", {"name": _clean_text(key), "value": _clean_text(value)}
            )
        for case in cases_of_suite:
            attributes = {"name": _clean_text(case.name), "classname": _clean_text(f"tidegauge.{case.suite}")}
            case_element = ElementTree.SubElement(element, "testcase", {**attributes, "time": f"{case.seconds:.3f}"})
            if case.state is not State.PASSED:
                why = ElementTree.SubElement(case_element, case.state.value, {"message": _clean_text(case.message)})
                why.text = _clean_text(case.message)
            if case.output:
                ElementTree.SubElement(case_element, "system-out").text = _clean_text(case.output)
    ElementTree.indent(root)
    content: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return content + b"\n"


def run_junit(run: StoredRun) -> bytes:
    """A run as JUnit XML."""
    cases = [_trial_case(trial) for trial in run.trials if trial.spec is None or not trial.spec.exploratory]
    begun = {trial.trial_id for trial in run.trials}
    cases += [
        JunitCase(spec.trial_id, spec.experiment, State.ERROR, "never began")
        for spec in run.planned
        if spec.trial_id not in begun and not spec.exploratory and run.status != "finished"
    ]
    for finding in run.findings:
        state = State.FAILURE if finding.refuted else State.PASSED if finding.decided else State.ERROR
        summary = "; ".join(finding.summary)
        cases.append(
            JunitCase(finding.finding_id, "findings", state, "" if state is State.PASSED else summary, summary)
        )
    states = {
        ThresholdOutcome.MET: State.PASSED,
        ThresholdOutcome.MISSED: State.FAILURE,
        ThresholdOutcome.NOT_DECIDED: State.ERROR,
    }
    for ruling in RunFacts(run).rulings:
        name = f"{ruling.threshold} ({thresholds.place(ruling) or 'nowhere'})"
        message = "" if ruling.outcome is ThresholdOutcome.MET else f"{ruling.outcome.value}: {ruling.why}"
        state, sentence = states[ruling.outcome], thresholds.sentence(ruling)
        cases.append(JunitCase(name, "thresholds", state, message, sentence))
    if run.status != "finished" and all(case.state is State.PASSED for case in cases):
        cases.append(JunitCase("run", "run", State.ERROR, f"{run.status}: {run.reason}"))
    marks = {fairness.MARK: fairness.headline(run.terms)} if run.terms.unequal else {}
    return junit_document(f"tidegauge {run.name}", cases, {"run": str(run.path), "status": run.status, **marks})


def _trial_case(trial: StoredTrial) -> JunitCase:
    suite = trial.spec.experiment if trial.spec else "trials"
    if trial.result is None:
        return JunitCase(trial.trial_id, suite, State.ERROR, trial.status_words)
    result = trial.result
    values = [
        (figure, figure.value_in(result)) for figure in figures_shown(Shown.JUNIT) if isinstance(result, MeasuredResult)
    ]
    figures = [
        f"{figure.title} {in_unit(value, figure.unit)} {figure.unit}".rstrip()
        for figure, value in values
        if value is not None
    ]
    figure_words = f"{result.spec.label}: {', '.join((*figures, result.validity.value))}"
    output = "\n".join((figure_words, *map(str, (*result.reasons, *result.warnings))))
    reasons = "; ".join(map(str, result.reasons))
    if isinstance(result, MeasuredResult) and (result.lost or result.corrupt):
        return JunitCase(trial.trial_id, suite, State.FAILURE, reasons, output, result.measured_s)
    if result.validity is Validity.INVALID:
        return JunitCase(trial.trial_id, suite, State.ERROR, f"INVALID: {reasons}", output, result.measured_s)
    return JunitCase(trial.trial_id, suite, output=output, seconds=result.measured_s)


def _count_attributes(cases: Sequence[JunitCase]) -> dict[str, str]:
    counts = {"failures": State.FAILURE, "errors": State.ERROR, "skipped": State.SKIPPED}
    return {
        "tests": str(len(cases)),
        **{name: str(sum(case.state is state for case in cases)) for name, state in counts.items()},
        "time": f"{sum(case.seconds for case in cases):.3f}",
    }


def _clean_text(text: str) -> str:
    """Text without the characters that XML has no way to write, which a hostile log line may hold."""
    return _NOT_IN_XML.sub("?", text)
