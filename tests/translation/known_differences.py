"""Differences that are known and not mended yet: by kind, each with its reason. The list is to be emptied."""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from translation.crossing import Crossed


class Known(NamedTuple):
    """A kind of difference: why it is there, and which cases it is in."""

    reason: str
    holds: Callable[[Crossed], bool]


def _step(case: Crossed) -> dict[str, Any]:
    found: dict[str, Any] = case.playbook["workflow"][1]
    return found


def _has(*keys: str) -> Callable[[Crossed], bool]:
    return lambda case: all(key in _step(case) for key in keys)


def _text(pattern: str, *keys: str) -> Callable[[Crossed], bool]:
    return lambda case: any(re.search(pattern, str(_step(case).get(key))) is not None for key in keys)


def _is_paged(case: Crossed) -> bool:
    step = _step(case)
    is_paged = re.search(
        r"collect|next_call|'retry': \{[^}]*'(params|args)'", f"{step.get('retry')} {step.get('case')}"
    )
    return is_paged is not None


def _is_paged_status(case: Crossed) -> bool:
    step = _step(case)
    return _is_paged(case) and "status_code" in f"{step.get('sink')} {step.get('vars')}"


KNOWN = (
    Known(
        "a page loop of an entry of the workbook is refused: its next call would have the fields of the first",
        lambda case: "workbook" in case.playbook and _is_paged(case),
    ),
    Known(
        "an arg of a step is evaluated where it is read, behind what the step has set (formal §3.4)",
        lambda case: "vars." in str(_step(case).get("args")) and "'set'" in str(_step(case).get("case")),
    ),
    Known(
        "behind a call of http with a pipe the result is the call's or the pipe's: a key of it is no key of the body",
        lambda case: (
            "'pipe'" in str(_step(case).get("case"))
            and "'http'" in f"{_step(case).get('tool')} {case.playbook.get('workbook')}"
            and re.search(r"\b(s|fetch|result)\.(data\.)?[kf]\b", f"{_step(case).get('next')} {_step(case).get('set')}")
            is not None
        ),
    ),
    Known("`status_code` is not known behind a loop over pages", _is_paged_status),
)
