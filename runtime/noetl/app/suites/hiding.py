"""The secrets of a case, hidden in what it is held against and in all that is said of it.

What a run records has markers already. What its tools were called with, and what the case expects, is hidden alike, so
that the two are compared as they are shown; and no value goes on from here, be it to a terminal or to a file.
"""

from __future__ import annotations

from collections.abc import Callable

from noetl.app.ending import Ending
from noetl.app.suites.running import ROOT, Ran
from noetl_ir.expr import Json
from noetl_ir.suite import SuiteCase

Hide = Callable[[Json], Json]


def hidden(case: SuiteCase, ran: Ran) -> tuple[SuiteCase, Ran]:
    """A case and its run without the secrets."""
    if not case.keychain and not ran.program.plan.keychain:
        return case, ran
    hide = _hide_of(case)
    expected = tuple(each._replace(value=hide(each.value)) for each in case.expected)
    return case._replace(expected=expected), ran._replace(
        ending=None if ran.ending is None else _ending(hide, ran.ending),
        calls=tuple(_mapping(hide, call) for call in ran.calls),
        result=hide(ran.result), results=_mapping(hide, ran.results), ctx=_mapping(hide, ran.ctx),
        wrong=tuple((_text(hide, text), step, task) for text, step, task in ran.wrong),
        waits=tuple(_text(hide, text) for text in ran.waits),
        untaken=tuple((number, _text(hide, text)) for number, text in ran.untaken),
    )  # fmt: skip


def with_hidden_name(case: SuiteCase) -> SuiteCase:
    """A case whose name shows no secret of it."""
    return case._replace(name=_text(_hide_of(case), case.name)) if case.keychain else case


def _hide_of(case: SuiteCase) -> Hide:
    from noetl.secrets.keychain import secrets_of
    from noetl.secrets.only_these import key_of_a_test
    from noetl.worker.redaction import Redactor, without_codes

    def open_(entry: str, field: str) -> Json:
        raise KeyError(f"{entry}.{field}")

    redactor = Redactor(key_of_a_test(ROOT), open_)
    redactor.learn((name, *pair) for name, fields in case.keychain.items() for pair in secrets_of(fields))
    return lambda value: without_codes(redactor.redact(value))


def _ending(hide: Hide, ending: Ending) -> Ending:
    children = [child._replace(error=hide(child.error), line=_text(hide, child.line)) for child in ending.children]
    return ending._replace(error=hide(ending.error), line=_text(hide, ending.line), children=tuple(children))


def _mapping(hide: Hide, value: dict[str, Json]) -> dict[str, Json]:
    found = hide(value)
    assert isinstance(found, dict)
    return found


def _text(hide: Hide, text: str) -> str:
    return str(hide(text))
