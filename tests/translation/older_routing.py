"""Where a step of the old dialects leads, said as plainly as LANGUAGE §6 and §3 do: `next` in its forms.

A name, or a list of names, is a fork; conditions are a ladder, and arcs are asked in order, the first or all. Of a
failure only conditions that read `error`, a status or the event are asked; what an arc gives that is not there then is
a fault.
"""

import re
from collections.abc import Mapping
from typing import Any, Protocol

from translation.older_repeating import Outcome
from translation.older_templates import is_true, reads, value_of

_OF_TOOL = ("this", "output")
Led = list[tuple[str, dict[str, Any]]]
_FAILURE = re.compile(r"\berror\b|output\.status|event\.(name|status|error)")


class Run(Protocol):
    """A run of a step, as far as routing asks about it."""

    step: Mapping[str, Any]
    execution: Any
    last: Outcome

    def names(self, scope: Mapping[str, Any] = ...) -> dict[str, Any]: ...
    def patch(self, pairs: Mapping[str, Any], names: Mapping[str, Any]) -> None: ...


def following(run: Run, failure: Outcome | None, code: str | None) -> Led | None:
    """Where `next` leads after a success, or after a failure that no rule took; None where nothing takes that."""
    node = run.step.get("next", [])
    result = run.execution.results.get(run.step["step"])
    outcome = Outcome(result, None) if failure is None else failure._replace(result=None, code=code)
    is_loop = "loop" in run.step
    event = "step.failed" if failure is not None else "loop.done" if is_loop else "step.done"
    words = outcome.names()
    if failure is None and not is_loop:  # a rule may have let an error pass: they are the tool's
        last = run.last.names()
        words |= {word: words[word] | {key: last["output"][key] for key in ("status", "error")} for word in _OF_TOOL}
    names = {**run.names(words), "event": {"name": event, "status": "error" if failure else "ok"}}
    arcs = _arcs(node)
    taken = []
    for when, targets, has_else in arcs:
        if failure is not None and (when is None or not reads(when, _FAILURE)):
            continue
        if when is None or is_true(when, names):
            taken += targets
        elif has_else is not None:
            taken += has_else
        if taken and not _is_inclusive(node):
            break
    if failure is not None and not taken:
        return None
    return arrivals(run, taken, names)


def arrivals(run: Run, targets: list[Any], names: Mapping[str, Any]) -> Led:
    """The tokens for some targets: all args are evaluated before any of them sets anything."""
    found: Led = []
    sets = []
    for target in targets:
        node = {"step": target} if isinstance(target, str) else target
        args = next((node[key] for key in ("args", "with", "data", "input") if key in node), {})
        found.append((node["step"], value_of(args, names)))
        sets.append(node.get("set", {}))
    for pairs in sets:
        run.patch(pairs, names)
    return found


def _is_inclusive(node: Any) -> bool:
    return isinstance(node, dict) and node.get("spec", {}).get("mode") == "inclusive"


def _arcs(node: Any) -> list[tuple[Any, list[Any], list[Any] | None]]:
    """(condition or None, targets, its own `else`) in order; unguarded names are one fork."""
    if isinstance(node, str):
        return [(None, [node], None)]
    if isinstance(node, dict):
        return [(arc.get("when"), [arc], None) for arc in node["arcs"]]
    found: list[tuple[Any, list[Any], list[Any] | None]] = []
    if all(isinstance(item, str) or not {"when", "then", "else", "condition"} & set(item) for item in node):
        return [(None, node, None)] if node else []
    for item in node:
        if isinstance(item, str):
            found.append((None, [item], None))
        elif "then" in item:
            found.append((item["when"], item["then"], item.get("else")))
        elif "else" in item:
            other = item["else"]["then"] if isinstance(item["else"], dict) else item["else"]
            if any("when" in target for target in other):
                found += [(target.get("when"), [target], None) for target in other]
            else:
                found.append((None, other, None))
        else:
            found.append((item.get("when", item.get("condition")), [item], None))
    return found
