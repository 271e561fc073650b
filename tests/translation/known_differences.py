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
    retry = _step(case).get("retry")
    return (
        isinstance(retry, list)
        or "on_success" in str(retry)
        or re.search(r"'collect'", str(_step(case).get("case"))) is not None
    )


def _fails_by_http(case: Crossed) -> bool:
    return "case" in _step(case) and "'http.status'" in str(case.answers)


KNOWN = (
    Known("`set` of a step does not see the step's own result (REAL.md, D10)", _text(r"\bs\.", "set")),
    Known("`set` of a step comes behind its sink, not with `vars` (REAL.md, D10)", _has("set", "sink")),
    Known("`set` of a step is done for failures that a rule takes (REAL.md, D10: ended well)", _has("set", "case")),
    Known(
        "what an inclusive rule sets of an error is not there (case §1.1)",
        lambda case: "inclusive" in str(_step(case)) and "error" in str(_step(case).get("case")),
    ),
    Known(
        "a skipped step with an inclusive case leads nowhere (LANGUAGE §6: routing goes on)",
        lambda case: "inclusive" in str(_step(case)) and bool({"when", "pass"} & set(_step(case))),
    ),
    Known("a chain of one attempt is used up (formal §7)", _text("'scope': 'chain', 'max_attempts': 1", "case")),
    Known(
        "a rule for `step.exit` behind one for `call.done` sets what that one's task gave",
        lambda case: "step.exit" in str(_step(case).get("case")) and "'set'" in str(_step(case).get("case")),
    ),
    Known("a page loop at its limit fails, and `vars` are kept of each page (REAL.md, flow)", _is_paged),
    Known(
        "entries of the workbook do not see the args of their call (REAL.md, flow)",
        lambda case: "workbook" in case.playbook,
    ),
    Known(
        "`error` after a success is null, not absent (REAL.md, values)",
        _text(r"error is defined|error != None", "retry", "next"),
    ),
    Known("rules for `call.done` take http failures (REAL.md, flow)", _fails_by_http),
    Known(
        "`stop_when` used up by a success fails, and is inherited by sinks (LANGUAGE §6)",
        _text("stop_when|result|response|success", "retry"),
    ),
    Known(
        "`set` of a looped step loses what its iterations chose (LANGUAGE §6: if any iteration took it)",
        lambda case: {"loop", "case"} <= set(_step(case)) and bool({"set", "vars"} & set(_step(case))),
    ),
    Known("`vars` and `set` of a looped step make two steps of one name", _has("loop", "vars", "set")),
    Known("rules of a case stand behind what ends the poll (REAL.md, flow)", _has("poll", "case")),
)
