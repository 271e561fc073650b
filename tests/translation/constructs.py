"""The constructs of a step of the old dialects, each made at random into a step."""

from collections.abc import Callable
from typing import Any

from translation.making import TARGETS, Making
from translation.playing import tool


def _retry_map(m: Making) -> None:
    retry: dict[str, Any] = {"max_attempts": m.one(1, 2, 3, 4), "initial_delay": 0.01}
    if m.one(0, 1):
        texts = ["error", "not success", "error == 'no timeout'", "error != None"]
        texts += [f"{m.body}.k == 1", f"success and {m.body}.f"]
        texts += ["status_code == 503", "status_code in [404, 503]"] if m.kind == "http" else []
        texts += [f"{own} == 1" for own in m.own("k")]
        retry["retry_when"] = m.braced(str(m.one(*texts)))
    if m.one(0, 0, 1):
        retry["stop_when"] = m.braced(str(m.one("success", f"{m.body}.k > 0", f"{m.body}.f", *m.own("f"))))
    m.step["retry"] = retry


def _retry_plain(m: Making) -> None:
    m.step["retry"] = m.one(True, 2, 3, {"max_attempts": 2, "on": "error"}, {"max_attempts": 3, "on": ["timeout"]})


def _collect(m: Making) -> dict[str, Any]:
    strategy, path = m.one(("append", "items"), ("append", "k"), ("append", ""), ("replace", "k"), ("merge", ""))
    where = ".".join(part for part in ("data" if m.kind == "http" else "", path) if part)
    return {"strategy": strategy, "into": "pages", **({"path": where} if where else {})}


def _paging(m: Making) -> dict[str, Any]:
    m.is_paged = True
    then: dict[str, Any] = {"max_attempts": m.one(1, 2, 3, 5)}
    field = "params" if m.kind == "http" else "args"
    if m.one(0, 1, 1):
        then["next_call"] = {field: {"page": m.braced(f"{m.body}.k + 1")}}
        m.args["page"] = 0
    if m.one(0, 1, 1) or "next_call" not in then:
        then["collect"] = _collect(m)
    return then


def _more(m: Making) -> str:
    return m.braced(str(m.one(f"{m.body}.f", f"{m.body}.k > 0", f"{m.body}.k == 1 and {m.body}.f")))


def _on_error(m: Making) -> dict[str, Any]:
    return {"max_attempts": m.one(1, 2, 3), "initial_delay": 0.01}


def _retry_list(m: Making) -> None:
    policies = [{"when": m.braced(m.of_failure()), "then": _on_error(m)} for _ in range(m.one(0, 1, 1))]
    then = _paging(m)
    if m.one(0, 0, 1):
        args = {"tag": "pagesink", **m_i(m), "read": "{{ _retry.index }}"}
        then["sink"] = {"tool": {"kind": "postgres", "auth": "pg"}, "table": "t", "args": args}
    policies.append({"when": _more(m), "then": then})
    m.random.shuffle(policies)
    m.step["retry"] = policies


def _retry_errors(m: Making) -> None:
    m.step["retry"] = [{"when": m.braced(m.of_failure()), "then": _on_error(m)} for _ in range(m.one(1, 2))]


def _retry_both(m: Making) -> None:
    found: dict[str, Any] = {"on_success": {"while": _more(m), **_paging(m)}}
    if m.one(0, 1):
        found["on_error"] = _on_error(m)
    m.step["retry"] = found


def m_i(m: Making) -> dict[str, Any]:
    """The argument that tells the iteration."""
    return {"i": "{{ loop_index }}"} if m.looped else {}


def _poll(m: Making) -> None:
    m.step["poll"] = {
        "until": m.braced(str(m.one(f"{m.body}.f", f"{m.body}.k > 0", f"{m.body}.k == 1", *m.own("f")))),
        "interval": 0.01,
        "max_attempts": m.one(1, 2, 3, 5),
    }


def _sink_node(
    m: Making, tag: str, *, failing: bool = False, when: bool = True, behind: bool = False
) -> dict[str, Any]:
    node: dict[str, Any] = {
        "tool": {"kind": "postgres", "auth": "pg"},
        "table": "t",
        "args": {"tag": tag, **m_i(m), "read": m.value(failing=failing, behind=behind)},
    }
    if when and m.one(0, 0, 1):
        node["when"] = m.braced(m.guard())
    return node


def _actions(m: Making, number: int, failing: bool) -> list[dict[str, Any]]:
    found = _work(m, number, failing)
    if not found or m.one(0, 1, 1):
        tasks = [key for action in found for key, node in action.items() if key not in ("sink", "set") and node]
        found.append({"next": _next_node(m, failing, tasks)})
    return found


def _work(m: Making, number: int, failing: bool) -> list[dict[str, Any]]:
    """The actions of a rule before it routes."""
    found: list[dict[str, Any]] = []
    for at in range(m.one(0, 0, 1, 1, 2)):
        tag = f"r{number}n{at}"
        match m.one("task", "sink", "set"):
            case "task":
                args = {"tag": tag, **m_i(m), "read": m.value(failing=failing)}
                again = {"retry": {"max_attempts": m.one(1, 2)}} if m.one(0, 0, 1) else {}
                found.append({tag: {"tool": tool("python", args), **again}})
            case "sink":
                found.append({"sink": _sink_node(m, tag, failing=failing, when=not failing)})
            case _:
                pair = {m.one("c", "e"): m.value(failing=failing)}
                found.append({"set": m.one(pair, {"ctx": pair})})
    return found


def _next_node(m: Making, failing: bool, tasks: list[str]) -> Any:
    """Where a rule leads; it may give what a task of its chain gave."""
    names = m.random.sample(TARGETS, 1 if m.looped else m.one(1, 1, 2))
    value = m.braced(f"{tasks[-1]}.k") if tasks and m.one(0, 1) else m.value(failing=failing)
    sent = {"args": {"x": value}} if m.one(0, 1) and not m.looped else {}
    arcs = [{"step": name, **sent} for name in names]
    if m.one(0, 1):
        return arcs
    node: dict[str, Any] = {"to": arcs}
    if m.step.get("spec", {}).get("case_mode") == "inclusive":
        own = [{}, {"priority": 2}, {"policy": "defer", "priority": 1}]
        if m.step["spec"]["next_policy"] != "defer":  # which of the two wins then, nothing says
            own.append({"policy": "break_chain"})
        node |= m.one(*own)
    return node


def _rule(m: Making, number: int) -> dict[str, Any]:
    event = m.one(
        "", "", "call.done", "call.done", "step.exit", "call.error", "loop.done" if m.looped else "call.error"
    )
    failing = event in ("call.error", "loop.done", "both")
    guard = m.one("", m.of_failure()) if event == "call.error" else m.one("", m.guard(), m.guard())
    if event == "loop.done":
        asked = "event.name == 'loop.done'"
        return {"when": m.braced(asked), "then": [{"next": [{"step": m.one(*TARGETS)}]}]}
    named = f"event.name == '{event}'" if event else ""
    named = "event.name in ['call.done', 'call.error']" if event == "both" else named
    text = " and ".join(part for part in (named, guard) if part) or "workload.w >= 0"
    actions = _actions(m, number, failing)
    if event != "step.exit" and (event == "call.error" or not m.is_paged) and m.one(0, 0, 0, 0, 1):
        actions.insert(0, {"retry": {"max_attempts": m.one(2, 3), "initial_delay": 0.01}})
    rule = {"when": m.braced(text), "then": actions}
    if m.one(0, 0, 0, 1):
        rule["priority"] = m.one(1, 2)
    if m.one(0, 0, 0, 0, 1) and any(key.startswith("r") and key != "retry" for action in actions for key in action):
        rule["retry"] = {"scope": "chain", "max_attempts": m.one(1, 2, 3)}
    if m.one(0, 0, 1) and len({next(iter(action)) for action in actions}) == len(actions):
        rule["then"] = {key: node for action in actions for key, node in action.items()}
    return rule


def _case(m: Making) -> None:
    if m.one(0, 0, 1):
        m.step.setdefault("spec", {})["branch_order"] = m.one("source", "priority")
    rules = [_rule(m, number) for number in range(m.one(1, 1, 2, 3))]
    if m.one(0, 1):
        rules.append({"else": _actions(m, len(rules), False)})
    m.step["case"] = rules


def _case_inclusive(m: Making) -> None:
    m.step["spec"] = {"case_mode": "inclusive", "next_policy": m.one("end_step", "break_chain", "defer")}
    _case(m)


def _case_paging(m: Making) -> None:
    """`then.retry` with the fields of the next call."""
    m.is_paged = True
    field = "params" if m.kind == "http" else "args"
    m.args["page"] = 0
    call = {"page": m.braced(f"{m.body}.k + 1")}
    actions = [
        *_work(m, 9, False),
        {"collect": _collect(m)},
        {
            "retry": {
                "max_attempts": m.one(1, 2, 5),
                **(m.one({field: call}, {"args": {field: call}}) if m.kind == "http" else {field: call}),
            }
        },
    ]
    if len(actions) == 2 and m.one(0, 1):
        actions = actions[1:]
    then: Any = actions
    if m.one(0, 1) and len({next(iter(action)) for action in actions}) == len(actions):
        then = {key: node for action in actions for key, node in action.items()}
    more = _more(m).strip("{} ")
    rules = [{"when": m.braced(f"event.name == 'call.done' and {more}"), "then": then}]
    if m.one(0, 1):
        rules.append(_rule(m, 1))
    m.step["case"] = rules


def _case_pipe(m: Making) -> None:
    """A rule with a pipe, its `catch` and `finally`; the next one is asked where it does not fire."""
    failing = m.one(0, 0, 0, 1)
    asked = f"event.name == '{'call.error' if failing else 'call.done'}'"
    guard = m.one("", "", m.of_failure() if failing else m.guard())
    names = [f"p{at}" for at in range(m.one(2, 2, 3))]
    tasks = [{name: _piped(m, name, names)} for name in names]
    node: dict[str, Any] = {"pipe": tasks, "catch": {"cond": _catch(m, "", names)}}
    if m.one(0, 1):
        node["finally"] = [{"next": [{"step": name} for name in m.random.sample(TARGETS, 1)]}]
    then: Any = node if m.one(0, 1) else [*m.one([], [{"set": {"e": 3}}]), node]
    if m.one(0, 0, 1):
        inner = {"pipe": {"tasks": tasks, "catch": node["catch"]}}
        then = [inner, *node.get("finally", [])]
    rules = [{"when": m.braced(" and ".join(part for part in (asked, guard) if part)), "then": then}]
    if m.one(0, 0, 1):
        rules.append(_rule(m, 1))
    m.step["case"] = rules


def _piped(m: Making, name: str, names: list[str]) -> dict[str, Any]:
    """A task of a pipe, which tells what it was given."""
    read = "{{ _prev }}" if name != names[0] and m.one(0, 1, 1) else "{{ vars.c }}"
    found: dict[str, Any] = {"tool": tool("python", {"tag": name, **m_i(m), "read": read})}
    if m.one(0, 0, 0, 1):
        found["catch"] = {"cond": _catch(m, name, names)}
    return found


def _catch(m: Making, own: str, names: list[str]) -> list[dict[str, Any]]:
    """Rules for failures; those of a task know where it stands, the others name the task that they are about."""
    found: list[dict[str, Any]] = []
    for _ in range(m.one(1, 1, 2, 3)):
        name = own or m.one(*names)
        asked = [] if own else [f"_task == '{name}'"]
        asked += [] if asked and m.one(0, 1) else [m.one("_err.code == 'timeout'", "_err.code != 'timeout'")]
        found.append(
            {"when": m.braced(" and ".join(asked)), **_control(m, name, names, own or asked[0][0:5] == "_task")}
        )
    if m.one(0, 1):
        found.append({"else": _control(m, "", names, False)})
    return found


def _control(m: Making, name: str, names: list[str], known: Any) -> dict[str, Any]:
    """The control of a rule of `catch`; where it is known which task failed, it may lead to another."""
    at = names.index(name) if known else 0
    choices: list[dict[str, Any]] = [
        {"do": "fail"}, {"do": "skip", "set_prev": {"k": 5}}, {"do": "skip", "set_prev": m.braced("vars.c + 1")},
        {"do": "retry", "attempts": m.one(1, 2, 3), "delay": 0.01}, {"do": "skip"}, {"do": "continue"},
    ]  # fmt: skip
    if known:
        word = m.one("from", "task")
        choices += [{"do": "retry", word: m.one(*names[: at + 1]), "attempts": m.one(1, 2, 3), "delay": 0.01}] * 3
        if at + 1 < len(names):
            choices += [{"do": "jump", "to": m.one(*names[at + 1 :])}] * 2
    return dict(m.one(*choices))


def _vars(m: Making) -> None:
    m.step["vars"] = {m.one("v", "v", "c"): m.of_list() if m.looped else m.value(behind=True)}


def _sink(m: Making) -> None:
    m.step["sink"] = _sink_node(m, "sink", behind=True)


def _set_step(m: Making) -> None:
    key = m.one("ctx.v", "v", "ctx.u", "step.u", "ctx.t")
    texts = ["workload.w", *m.own("k")]
    if "set" in m.tool:
        texts += ["ctx.t", "ctx.t + 1"]
    value = m.of_list() if m.looped else "{{ " + m.one(*texts) + " }}"
    m.step["set"] = _under_scope(m, key, value)


def _under_scope(m: Making, key: str, value: Any) -> dict[str, Any]:
    """A pair of `set`, as a mapping under its scope too."""
    scope, _, name = key.rpartition(".")
    return {"ctx": {name: value}} if scope == "ctx" and m.one(0, 1) else {key: value}


def _set_task(m: Making) -> None:
    texts = ["workload.w"] if m.is_paged else ["output.data.k" if m.kind == "http" else "output.k", "workload.w"]
    pair = {"t": "{{ " + m.one(*texts) + " }}"}
    m.tool["set"] = m.one(pair, {"ctx": pair})


def _next_plain(m: Making) -> None:
    names = m.random.sample(TARGETS, m.one(1, 1, 2))
    sent = {"args": {"x": "{{ vars.c }}"}}
    m.step["next"] = m.one(names[0], [{"step": name, **sent} for name in names], list(names))


def _outside(m: Making) -> str:
    texts = ["workload.w == 1", "vars.c == 1", "vars.v == 1", "vars.v is defined", "workload.w > 0"]
    if not m.looped:
        texts += ["s.data.k == 1", "s.data.f"] if m.kind == "http" else ["s.k == 1", "s.f", "result.k > 0"]
    return str(m.one(*texts))


def _targets(m: Making) -> list[Any]:
    """Targets of a branch in their styles."""
    found: list[Any] = []
    for name in m.random.sample(TARGETS, m.one(1, 1, 2)):
        style = m.one("step", "step", "args", "with", "data")
        sent = {} if style == "step" else {style: {"x": m.braced(m.one("workload.w", "vars.c", "vars.c + 1"))}}
        found.append({"step": name, **sent})
    return found


def _next_ladder(m: Making) -> None:
    branches: list[Any] = []
    for _ in range(m.one(1, 2)):
        asked = m.braced(m.one(_outside(m), _outside(m), m.one("error is defined", "error.code == 'timeout'")))
        match m.one("then", "then", "when", "condition", "own else"):
            case "then":
                branches.append({"when": asked, "then": _targets(m)})
            case "own else":
                branches.append({"when": asked, "then": _targets(m), "else": _targets(m)})
            case word:
                branches.append({"step": m.one(*TARGETS), word: asked})
    last = m.one("none", "else", "else then", "fallback", "else asked")
    if last == "else asked":
        asked = m.braced(_outside(m))
        branches.append({"else": [{"step": m.one(*TARGETS), "when": asked}, {"step": m.one(*TARGETS)}]})
    elif last == "fallback":
        branches.append({"step": m.one(*TARGETS)})
    elif last != "none":
        branches.append({"else": _targets(m) if last == "else" else {"then": _targets(m)}})
    m.step["next"] = branches


_STATUSES = ("output.status == 'error'", "output.status == 'ok'", "output.error != None")
"""Conditions of an arc about how its step ended."""


def _next_arcs(m: Making) -> None:
    arcs = []
    for _ in range(m.one(1, 2, 2)):
        arc: dict[str, Any] = {"step": m.one(*TARGETS)}
        if m.one(0, 1):
            arc["when"] = m.braced(m.one(_outside(m), _outside(m), *_STATUSES))
        if m.one(0, 1):
            of_end = [] if m.looped or m.is_paged else ["result.k", "result.k | default('no')", *m.own("k")[:1]]
            arc["args"] = {"x": m.braced(m.one("vars.c", *of_end))}
        arcs.append(arc)
    m.step["next"] = {"spec": {"mode": "exclusive"}, "arcs": arcs}


def _set_arc(m: Making) -> None:
    _next_arcs(m)
    for arc in m.step["next"]["arcs"]:
        of_end = ["event.name", "output.status"] if m.looped else ["event.name", "output.status", "result.k", "s.k"]
        texts = ["vars.c + 1", "workload.w", *of_end]
        arc["set"] = _under_scope(m, "ctx.u", "{{ " + m.one(*texts) + " }}")


def _loop(m: Making) -> None:
    m.step["loop"] = {"in": m.one([0, 1], [0, 1, 2], [5], []), "iterator": "item"}


def _workbook(m: Making) -> None:
    m.workbook = {m.one("name", "name", "task"): "entry"}
    if m.one(0, 0, 1):
        m.workbook["sink"] = {
            "tool": {"kind": "postgres", "auth": "pg"}, "table": "t",
            "args": {"tag": "wsink", **m_i(m), "read": m.braced("result.data.k" if m.kind == "http" else "result.k")},
        }  # fmt: skip
    if m.one(0, 0, 1):
        m.workbook["retry"] = {"max_attempts": m.one(2, 3)}


def _args(m: Making) -> None:
    before = ["{{ s.k | default(8) }}"] if m.returns and not m.is_paged and m.kind != "http" and not m.looped else []
    m.step["args"] = {"n": m.one(4, "{{ vars.c }}", "{{ workload.w }}", *before)}
    m.args["read"] = m.one("{{ args.n }}", "{{ n }}", "{{ args.n + 1 }}")
    m.sends = m.one(False, True)


def _when(m: Making) -> None:
    before = ["s is not defined", "s is defined"] if m.returns else []
    asked = m.braced(m.one("workload.w == 1", "vars.c == 1", "workload.w < 2", *before))
    m.step |= m.one({"when": asked}, {"when": asked}, {"pass": asked}, {"pass": True}, {"when": True})


def _named(m: Making) -> None:
    m.named = "fetch"


def _returns(m: Making) -> None:
    m.returns = True


CONSTRUCTS: dict[str, tuple[str, Callable[[Making], None]]] = {
    "named": ("name", _named),
    "second visit": ("visit", _returns),
    "loop": ("loop", _loop),
    "workbook": ("workbook", _workbook),
    "args": ("args", _args),
    "when": ("when", _when),
    "retry map": ("retry", _retry_map),
    "retry plain": ("retry", _retry_plain),
    "retry list": ("retry", _retry_list),
    "retry errors": ("retry", _retry_errors),
    "retry both": ("retry", _retry_both),
    "poll": ("poll", _poll),
    "case exclusive": ("case", _case),
    "case inclusive": ("case", _case_inclusive),
    "case paging": ("case", _case_paging),
    "case pipe": ("case", _case_pipe),
    "set of task": ("tool", _set_task),
    "vars": ("vars", _vars),
    "set of step": ("set", _set_step),
    "sink": ("sink", _sink),
    "next": ("next", _next_plain),
    "next ladder": ("next", _next_ladder),
    "next arcs": ("next", _next_arcs),
    "set of arc": ("next", _set_arc),
}
"""Constructs of a step: the slot that each takes, and what makes one. In the order in which they are made."""
