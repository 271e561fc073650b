"""Random playbooks that compile, with scripts: steps, arcs, joins, loops, admission, policies, failures.

Cycles of steps are guarded by a counter in `ctx`, so every run comes to an end; everything else is free, and ends of
every kind come out.
"""

from typing import Any

from hypothesis import strategies as st

Json = Any
CALM = st.integers(0, 3)
REDUCED = {
    "r_sum": "sum",
    "r_max": "max",
    "r_append": "append",
    "r_union": "union",
    "r_merge": "merge",
    "r_count": "count",
}


@st.composite
def playbooks(draw: st.DrawFn) -> Json:
    """A playbook as data; its steps are `start` and `s1` … in an order in which arcs mostly lead forward."""
    count = draw(st.integers(1, 6))
    names = ["start", *(f"s{number}" for number in range(1, count))]
    steps = [draw(_steps(names, index)) for index in range(count)]
    _join(draw, steps)
    document: Json = {
        "apiVersion": "noetl.io/v2",
        "kind": "Playbook",
        "metadata": {"name": "t", "path": "t/t"},
        "workload": {"zero": 0, "list": [1, 2, 3], "map": {"a": 1}, "text": "x"},
        "workflow": steps,
    }
    if draw(st.booleans()):
        document["executor"] = {"spec": {"policy": {"failure": {"mode": "best_effort"}}}}
    if draw(st.booleans()):
        document.setdefault("executor", {}).setdefault("spec", {})["ctx"] = {
            key: {"reduce": reduce} for key, reduce in REDUCED.items() if draw(st.booleans())
        }
    if draw(st.integers(0, 7)) == 7:
        spec = document.setdefault("executor", {}).setdefault("spec", {}).setdefault("policy", {})
        spec["lifecycle"] = {"timeout_s": draw(st.sampled_from([1, 2.5, 40]))}
    if draw(st.integers(0, 3)) == 3:
        _add_phases(draw, document)
    if draw(st.integers(0, 3)) == 3:
        _add_compensation(draw, document, names)
    return document


def _add_compensation(draw: st.DrawFn, document: Json, names: list[str]) -> None:
    """Have runs of some steps undone, by one step or two in a row."""
    undoing = [f"undo{number}" for number in range(draw(st.integers(1, 2)))]
    for step in document["workflow"]:
        if step["step"] in names and draw(st.booleans()):
            how = draw(st.sampled_from(["undo0", {"step": "undo0", "on": "started"}]))
            step.setdefault("spec", {}).setdefault("policy", {})["compensate"] = how
    steps = [draw(_steps(undoing, index)) for index in range(len(undoing))]
    _join(draw, steps)
    for step in steps:
        for arc in step.get("next", {}).get("arcs", ()):
            arc["step"] = arc["step"] if arc["step"] in undoing else "end"
    document["workflow"] += steps
    if draw(st.booleans()):
        spec = document.setdefault("executor", {}).setdefault("spec", {})
        spec["compensate_on"] = draw(st.sampled_from([["failed"], ["cancelled", "blocked"], "failed"]))


def _add_phases(draw: st.DrawFn, document: Json) -> None:
    """Give a playbook phases behind main, with one or two steps each, and perhaps a limit of time for them."""
    spec = document.setdefault("executor", {}).setdefault("spec", {})
    for phase in draw(st.sampled_from([("finally",), ("on_failure",), ("on_failure", "finally")])):
        names = [f"{phase}{number}" for number in range(draw(st.integers(1, 2)))]
        spec[phase] = names[0]
        steps = [draw(_steps(names, index)) for index in range(len(names))]
        _join(draw, steps)
        for step in steps:
            for arc in step.get("next", {}).get("arcs", ()):
                arc["step"] = arc["step"] if arc["step"] in names else "end"
        document["workflow"] += steps
    if draw(st.booleans()):
        spec.setdefault("policy", {}).setdefault("lifecycle", {})["after_s"] = draw(st.sampled_from([1, 2.5, 40]))


@st.composite
def scripts(draw: st.DrawFn) -> Json:
    """Outcomes by step, task, index, visit and attempt; what is not listed succeeds after a second."""
    outcome = st.one_of(
        st.just({"result": {"v": 1}}),
        st.just({"status": "error", "http": {"status": 503}}),
        st.just({"result": None}),
    )
    entry = st.fixed_dictionaries(
        {"takes": st.sampled_from([0, 0.5, 1, 1, 4]), "outcome": outcome},
        optional={
            "step": st.sampled_from(["start", "s1", "s2", "s3"]),
            "task": st.sampled_from(["t0", "t1"]),
            "index": CALM,
            "attempt": st.integers(1, 2),
            "run": st.integers(1, 2),
        },
    )
    signal = st.fixed_dictionaries(
        {"at": st.sampled_from([0, 0.5, 1, 2, 3]), "name": st.sampled_from("mmcsxx"), "data": st.sampled_from([1, "x"])}
    )
    outcomes = [*draw(st.lists(entry, max_size=6)), {"takes": 1, "outcome": {"result": {"v": 2}}}]
    return {"outcomes": outcomes, "signals": draw(st.lists(signal, max_size=4))}


def _interrupts() -> st.SearchStrategy[Json]:
    return st.sampled_from(
        [{"events": ["x"]}, {"events": ["m", "x"]}, {"timers": {"late": 2}}, {"events": ["x"], "timers": {"late": 40}}]
    )


@st.composite
def _steps(draw: st.DrawFn, names: list[str], index: int) -> Json:
    tasks = draw(st.integers(1, 3))
    step: Json = {"step": names[index], "tool": [draw(_tasks(number, tasks)) for number in range(tasks)]}
    loop = draw(st.one_of(st.none(), st.none(), _loops()))
    if loop is not None:
        step["loop"] = loop
    policy: Json = {}
    if draw(CALM) == 0:
        policy["lifecycle"] = {"timeout_s": draw(st.sampled_from([1, 3, 60]))}
    if loop is not None and draw(st.booleans()):
        policy["failure"] = {"mode": "best_effort"}
    if draw(CALM) == 0:
        policy["interrupt"] = draw(_interrupts())
    if draw(CALM) == 0:
        policy["admit"] = draw(_admissions())
    if policy:
        step["spec"] = {"policy": policy}
    arcs = draw(st.lists(_arcs(names, index, looped=loop is not None), max_size=3))
    if index and draw(st.integers(0, 7)) == 7:
        step.setdefault("spec", {}).setdefault("policy", {})["terminate"] = draw(
            st.sampled_from(["completed", "failed"])
        )
        arcs = [arc for arc in arcs if arc.get("when") == "{{ event.name == 'step.failed' }}"]
    if arcs:
        mode = draw(st.sampled_from(["exclusive", "inclusive"]))
        step["next"] = {"spec": {"mode": mode}, "arcs": arcs}
    return step


def _join(draw: st.DrawFn, steps: list[Json]) -> None:
    """Give steps a join where they have several sources."""
    for step in steps:
        leading = [
            other["step"]
            for other in steps
            if any(arc["step"] == step["step"] for arc in other.get("next", {}).get("arcs", ()))
        ]
        sources = len(set(leading)) + (step["step"] == "start")
        if sources > 1:
            join = draw(st.sampled_from(["any", "all", "first", 2]))
            step.setdefault("spec", {}).setdefault("policy", {})["join"] = join


@st.composite
def _loops(draw: st.DrawFn, depth: int = 0) -> Json:
    items = ["{{ workload.list }}", "{{ [] }}", "{{ workload.map }}", "{{ range(5) | list }}", "{{ workload.zero }}"]
    loop: Json = {"in": draw(st.sampled_from(items)), "iterator": f"i{depth}", "spec": {}}
    if draw(st.booleans()):
        loop["spec"] = {"mode": "parallel"}
        limit = draw(st.sampled_from([None, 1, 2, "{{ workload.zero }}"]))
        if limit is not None:
            loop["spec"]["max_in_flight"] = limit
    if draw(st.integers(0, 5)) == 5:
        limit = draw(st.sampled_from([1, 2.5, 40, "{{ workload.zero }}"]))
        loop["spec"]["policy"] = {"lifecycle": {"timeout_s": limit}}
    if draw(st.integers(0, 3)) == 3:
        enough = draw(st.sampled_from([1, 2, "{{ workload.list }}", "{{ event.done > 1 }}", "{{ event.failed }}"]))
        rests = ["cancel", "finish"] if depth else ["cancel", "finish", "swallow", "swallow"]
        loop["spec"].setdefault("policy", {}).update(enough=enough, rest=draw(st.sampled_from(rests)))
    if draw(st.integers(0, 3)) == 3:
        _listen(draw, loop["spec"], depth)
    if not depth and draw(CALM) == 0:
        loop["loop"] = draw(_loops(depth=1))
    return loop


def _listen(draw: st.DrawFn, spec: Json, depth: int) -> None:
    """Give a loop signals to listen for; one that items are added to ends by a timer."""
    timers = {"t": draw(st.sampled_from([1, 2.5, "{{ workload.zero + 3 }}", 6]))}
    if draw(st.booleans()):
        spec["more"] = {"events": ["m"]}
        spec["close"] = {"events": ["c"], "timers": timers}
    if "more" not in spec or draw(st.booleans()):
        spec["complete"] = {"events": ["s"], **({"timers": timers} if draw(st.booleans()) else {})}
        rests = ["cancel", "finish"] if depth else ["cancel", "finish", "swallow"]
        spec.setdefault("policy", {}).setdefault("rest", draw(st.sampled_from(rests)))


@st.composite
def _tasks(draw: st.DrawFn, number: int, tasks: int) -> Json:
    task: Json = {"name": f"t{number}"}
    if draw(st.integers(0, 9)) == 9:
        task |= {"kind": "fail", "code": draw(st.sampled_from(["mine", "{{ ctx.k | default('') }}"]))}
    elif draw(st.booleans()):
        task |= {"kind": "noop", "args": {"v": draw(st.sampled_from(["{{ _prev }}", "{{ ctx.k | default(0) }}"]))}}
    else:
        task |= {"kind": "http", "url": draw(st.sampled_from(["http://x", "http://x/{{ ctx.k }}"]))}
    rules = draw(st.lists(_rules(tasks), max_size=2))
    if rules:
        task["spec"] = {"policy": {"rules": rules}}
    return task


@st.composite
def _rules(draw: st.DrawFn, tasks: int) -> Json:
    when = draw(
        st.sampled_from(
            [
                "{{ outcome.status == 'error' }}",
                "{{ outcome.status == 'ok' }}",
                "{{ outcome.result.v == 1 }}",
                "{{ 1 / workload.zero }}",
            ]
        )
    )
    do = draw(st.sampled_from(["continue", "break", "fail", "retry", "jump"]))
    then: Json = {"do": do}
    if do == "retry":
        then |= {"attempts": draw(st.integers(1, 3)), "delay": draw(st.sampled_from([0, 1, 5]))}
    if do == "jump":
        then |= {"to": f"t{draw(st.integers(0, tasks - 1))}", "set_iter": {"n": "{{ iter.n | default(0) + 1 }}"}}
        when = "{{ iter.n | default(0) < 3 }}"
        if draw(st.booleans()):
            then["delay"] = 1
    if draw(CALM) == 0:
        value = draw(st.sampled_from(["{{ _attempt }}", "{{ ctx.k | default(0) + 1 }}", "{{ outcome.result.nope }}"]))
        then["set_ctx"] = {"k": value}
    if draw(CALM) == 0:
        # Each is of a declared reducer, or an ordinary key where none is declared.
        then.setdefault("set_ctx", {})[draw(st.sampled_from([*REDUCED]))] = draw(
            st.sampled_from([1, "x", [1], {"a": 1}, "{{ _attempt }}", "{{ iter.index | default(7) }}"])
        )
    return {"when": when, "then": then}


def _admissions() -> st.SearchStrategy[Json]:
    allow = st.fixed_dictionaries(
        {
            "when": st.sampled_from(["{{ ctx.k }}", "{{ true }}", "{{ 1 / workload.zero }}", "{{ args.a }}"]),
            "then": st.fixed_dictionaries({"allow": st.booleans()}),
        }
    )
    return st.fixed_dictionaries(
        {"rules": st.lists(allow, min_size=1, max_size=2)}, optional={"on_deny": st.just("wait")}
    )


@st.composite
def _arcs(draw: st.DrawFn, names: list[str], index: int, *, looped: bool) -> Json:
    target = draw(st.sampled_from([*names, "end"]))
    done = "loop.done" if looped else "step.done"
    guards = [
        None,
        f"{{{{ event.name == '{done}' }}}}",
        "{{ event.name == 'step.failed' }}",
        "{{ ctx.k }}",
        "{{ ctx.r_append }}",
    ]
    arc: Json = {"step": target}
    guard = draw(st.sampled_from(guards))
    if target in names and names.index(target) <= index:
        guard = "{{ ctx.k is defined and ctx.k < 2 and event.status }}"  # a way back, at most until `k` is 2
        arc["spec"] = {"delay": 1}
        arc["args"] = {"back": True}
    if guard is not None:
        arc["when"] = guard
    if draw(CALM) == 0:
        arc["args"] = {"a": draw(st.sampled_from(["{{ ctx.k }}", 1]))}
    return arc
