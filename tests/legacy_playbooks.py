"""Random playbooks in which constructs of all older dialects stand side by side. They need not mean anything together;
each of them is written as some specification, or some playbook in the wild, writes it."""

from typing import Any

from hypothesis import strategies as st

Json = Any
PAGE = "{{ response.data.page + 1 }}"
GUARDS = st.sampled_from(
    [
        "{{ event.name == 'call.done' }}",
        "{{ event.name == 'call.error' }}",
        "{{ event.name == 'step.exit' and result.x }}",
        "{{ response.ok }}",
        "{{ response.status_code == 404 }}",
        "{{ event.name == 'loop.done' }}",
    ]
)
SINKS = st.sampled_from(
    [
        {"tool": {"kind": "postgres", "auth": "p", "table": "t"}, "args": {"a": "{{ result.x }}"}},
        {"tool": {"kind": "postgres", "auth": "p", "table": "t"}, "args": {"a": 1}, "when": "{{ result }}"},
        {"storage": "postgres", "table": "t", "key": "a", "data": {"a": "{{ this.data.x }}"}},
        {"tool": "duckdb", "statement": "INSERT"},
    ]
)
RETRIES = st.sampled_from(
    [
        True,
        2,
        {"max_attempts": 3, "initial_delay": 0.5, "backoff_multiplier": 1.5, "retry_when": "{{ status_code == 503 }}"},
        {"max_attempts": 3, "stop_when": "{{ result.ok }}"},
        {"max_attempts": 3, "retry_on": ["timeout"]},
        {"on_error": {"max_attempts": 2, "when": "{{ error.status in [429] }}"}},
        {"on_success": {"while": "{{ response.data.more }}", "max_attempts": 2}},
        {
            "on_success": {
                "while": "{{ response.data.more }}",
                "max_attempts": 5,
                "next_call": {"params": {"page": PAGE}},
            }
        },
        {
            "on_success": {
                "while": "{{ response.data.more }}",
                "next_call": {"args": {"page": PAGE}},
                "collect": {"strategy": "append", "path": "data.items"},
            },
            "on_error": {"max_attempts": 2},
        },
        [
            {"when": "{{ error.status == 500 }}", "then": {"max_attempts": 2}},
            {
                "when": "{{ response.data.more }}",
                "then": {
                    "max_attempts": 9,
                    "next_call": {"params": {"page": PAGE}},
                    "collect": {"strategy": "append", "path": "data.items", "into": "pages"},
                    "sink": {
                        "tool": {"kind": "postgres", "auth": "p", "table": "t"},
                        "args": {"p": "{{ page.data }}", "i": "{{ _retry.index }}"},
                    },
                },
            },
        ],
    ]
)
LOOPS = st.sampled_from(
    [
        {"in": "{{ workload.list }}", "iterator": "it"},
        {"collection": "{{ workload.list }}", "element": "it", "mode": "async", "limit": 2},
        {"in": [1, 2], "iterator": "it", "where": "{{ it > 1 }}", "on_error": "continue"},
    ]
)
_TOOLS = st.sampled_from(
    [
        {"kind": "noop"},
        {"kind": "python", "code": "result = 1"},
        {"kind": "http", "url": "https://example.com"},
        {"kind": "http", "url": "https://example.com", "params": {"page": 1, "z": "{{ workload.k }}"}},
        {"kind": "postgres", "auth": "pg", "command": "SELECT 1"},
    ]
)
_ARGS = st.sampled_from([{"c": 3, "b": "{{ args.n }}"}, {"c": 3, "b": "{{ vars.q }}"}, {"b": 4}])


@st.composite
def legacy_playbooks(draw: st.DrawFn) -> Json:
    """A playbook as data."""
    names = ["start", "b", "c", "end"][: draw(st.integers(2, 4))]
    document: Json = {
        "apiVersion": draw(st.sampled_from(["noetl.io/v1", "noetl.io/v2"])),
        "kind": "Playbook",
        "metadata": {"name": "t", "path": "t/t"},
        "workload": {"k": 1, "list": [1, 2]},
    }
    if _seldom(draw):
        document["vars"] = {"q": 0, "url": "u"}
    document["workflow"] = [draw(_steps(name, names)) for name in names]
    return document


@st.composite
def _steps(draw: st.DrawFn, name: str, names: list[str]) -> Json:
    parts: Json = {}
    tool = draw(st.none() | _tasks(named=False))
    if tool is not None:
        form = draw(st.sampled_from(["map", "map", "list", "word"]))
        if form == "word":
            inner = dict(tool)
            parts[draw(st.sampled_from(["tool", "type"]))] = inner.pop("kind")
            parts |= {key: value for key, value in inner.items() if key not in ("retry", "set")}
        else:
            parts["tool"] = tool if form == "map" else [draw(_tasks(named=True)), {"lbl": tool}]
    extras: dict[str, st.SearchStrategy[Json]] = {
        "args": st.just({"n": 1, "b": "{{ workload.k }}"}),
        "loop": LOOPS,
        "vars": st.just({"q": "{{ result.x }}"}),
        "set": st.just({"ctx.w": "{{ output.data.x }}"}),
        "sink": SINKS,
        "save": SINKS,
        "retry": RETRIES,
        "result": st.sampled_from(["{{ result.x }}", {"from": "{{ result }}"}]),
        "when": st.just("{{ workload.k == 1 }}"),
        "case": _cases(names),
    }
    for key in draw(st.lists(st.sampled_from(sorted(extras)), max_size=3, unique=True)):
        parts.setdefault(key, draw(extras[key]))
    if draw(st.booleans()):
        parts["next"] = draw(_nexts(names))
    return {"step": name, **{key: parts[key] for key in draw(st.permutations(sorted(parts)))}}


@st.composite
def _tasks(draw: st.DrawFn, *, named: bool) -> Json:
    task = {"name": "first", **draw(_TOOLS)} if named else dict(draw(_TOOLS))
    if draw(st.booleans()):
        task[draw(st.sampled_from(["args", "data"]))] = draw(_ARGS)
    if _seldom(draw):
        task["retry"] = draw(RETRIES)
    if _seldom(draw):
        task["set"] = {draw(st.sampled_from(["ctx.x", "iter.x", "x"])): "{{ output }}"}
    return task


@st.composite
def _cases(draw: st.DrawFn, names: list[str]) -> Json:
    rules = []
    for number in range(draw(st.integers(1, 3))):
        then: list[Json] = []
        if _seldom(draw):
            then.append({"sink": draw(SINKS)})
        if _seldom(draw):
            then.append({"set": {"m": "{{ result.x }}"}})
        if _seldom(draw):
            then.append({f"work{number}": {"tool": {"kind": "noop"}}})
        if draw(st.booleans()) or not then:
            then.append({"next": [{"step": draw(st.sampled_from(names))}]})
        rules.append({"when": draw(GUARDS), "then": then})
    return rules


@st.composite
def _nexts(draw: st.DrawFn, names: list[str]) -> Json:
    def target() -> Json:
        name = draw(st.sampled_from(names))
        return draw(st.sampled_from([name, {"step": name}, {"step": name, "args": {"n": "{{ result.n }}"}}]))

    match draw(st.integers(0, 5)):
        case 0:
            return target()
        case 1:
            return [target(), target()]
        case 2:
            return [{"when": "{{ workload.k == 1 }}", "then": [target()]}, {"else": [target()]}]
        case 3:
            name = draw(st.sampled_from(names))
            return [{"step": name, "when": "{{ vars.q }}"}, {"step": draw(st.sampled_from(names))}]
        case 4:
            return {"arcs": [{"step": names[0], "when": "{{ event.name == 'call.done' }}", "set": {"ctx.y": 1}}]}
        case _:
            return [target()]


def _seldom(draw: st.DrawFn) -> bool:
    return draw(st.integers(0, 3)) == 0
