"""The outcome of tests as JUnit XML, as CI systems read it: a `testsuite` for each file, a `testcase` for each case."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from noetl.app.suites.path import lines_of
from noetl.app.suites.verdict import CaseVerdict
from noetl_ir.suite import Suite


def junit_of(rows: Sequence[tuple[Suite, Sequence[CaseVerdict]]]) -> str:
    """The document."""
    lines = [_suite(suite, verdicts) for suite, verdicts in rows]
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', "<testsuites>", *lines, "</testsuites>"]) + "\n"


def _suite(suite: Suite, verdicts: Sequence[CaseVerdict]) -> str:
    failed = sum(not each.ok for each in verdicts)
    seconds = sum(each.seconds for each in verdicts)
    head = _tag("testsuite", name=suite.file, tests=len(verdicts), failures=failed, errors=0, time=f"{seconds:.3f}")
    return "\n".join([f"  <{head}>", *(line for each in verdicts for line in _case(suite, each)), "  </testsuite>"])


def _case(suite: Suite, verdict: CaseVerdict) -> Iterator[str]:
    case = suite.cases[verdict.number]
    head = _tag(
        "testcase", name=case.name, classname=suite.file, file=suite.file, line=case.span.line,
        time=f"{verdict.seconds:.3f}",
    )  # fmt: skip
    if verdict.ok:
        yield f"    <{head}/>"
        return
    yield f"    <{head}>"
    for failure in verdict.failures:
        text = "\n".join([f"{suite.file}:{failure.span}", *failure.details, *lines_of(verdict.path)])
        yield f"      <{_tag('failure', message=failure.message)}>{_escaped(text)}</failure>"
    yield "    </testcase>"


def _tag(tag: str, /, **attributes: object) -> str:
    return " ".join([tag, *(f'{key}="{_escaped(str(value))}"' for key, value in attributes.items())])


def _escaped(text: str) -> str:
    """A text as XML 1.0 may hold it: what it has no character for is shown as an escape."""
    # Nothing of the world comes in here but texts that are made, and none is read: an escape is all that is needed.
    shown = "".join(char if _is_char(char) else char.encode("unicode_escape").decode("ascii") for char in text)
    for char, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")):
        shown = shown.replace(char, entity)
    return shown


def _is_char(char: str) -> bool:
    return char in "\t\n\r" or " " <= char <= "\ud7ff" or "\ue000" <= char <= "\ufffd" or char > "\uffff"
