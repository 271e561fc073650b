"""The small world of random steps: what is read, asked and set, each as a template and as a Python function.

Names are those of the dialects. `Seen` is the state an independent interpreter keeps; reading it never looks at what
the compiler makes of the template.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from hypothesis import strategies as st

NO_EVENT: Mapping[str, Any] = {"data": {}}


class Seen(NamedTuple):
    """The world of an expression: the outcome of the step's tool, `ctx` under its old name `vars`, the workload, and in
    a case on events the event.
    """

    outcome: Mapping[str, Any]
    ctx: Mapping[str, Any]
    workload: Mapping[str, Any]
    event: Mapping[str, Any] = NO_EVENT

    @property
    def status_code(self) -> Any:
        return (self.outcome.get("http") or {}).get("status")

    def result(self, key: str) -> Any:
        return (self.outcome.get("result") or {}).get(key)

    @property
    def code(self) -> Any:
        return self.outcome.get("code", "scripted") if self.outcome["status"] == "error" else None


class Expr(NamedTuple):
    """An expression: its text without braces, and what it means."""

    text: str
    of: Callable[[Seen], Any]

    def __repr__(self) -> str:
        return self.text

    @property
    def template(self) -> str:
        """As it stands in a file."""
        return "{{ " + self.text + " }}"


def _above(value: Any, bound: int) -> bool:
    """An ordering comparison with what is undefined is false."""
    return value is not None and value > bound


ALWAYS_THERE = (
    Expr("workload.w", lambda s: s.workload["w"]),
    Expr("vars.c", lambda s: s.ctx["c"]),
    Expr("vars.c + 1", lambda s: s.ctx["c"] + 1),
    Expr("7", lambda s: 7),
)
"""Expressions that can be read whatever the tool did."""
OF_RESULT = (
    Expr("result.k", lambda s: s.result("k")),
    Expr("result.k + vars.c", lambda s: s.result("k") + s.ctx["c"]),
    Expr("this.data.k", lambda s: s.result("k")),
)
"""Expressions that can be read where there is a result."""
OF_HTTP = (Expr("response.status_code", lambda s: s.status_code), Expr("status_code", lambda s: s.status_code))
"""Expressions that can be read where http has answered."""
OF_ERROR = (Expr("error.code", lambda s: s.code), Expr("error.message", lambda s: f"no {s.code}"))
"""Expressions that can be read where the tool failed."""

_OUTSIDE = (
    Expr("workload.w == 1", lambda s: s.workload["w"] == 1),
    Expr("workload.w > 0", lambda s: s.workload["w"] > 0),
    Expr("vars.c == 1", lambda s: s.ctx["c"] == 1),
    Expr("vars.c > 0", lambda s: s.ctx["c"] > 0),
    Expr("vars.v == 1", lambda s: s.ctx.get("v") == 1),
    Expr("vars.v is defined", lambda s: "v" in s.ctx),
)
_INSIDE = (
    Expr("result.k == 1", lambda s: s.result("k") == 1),
    Expr("response.k > 0", lambda s: _above(s.result("k"), 0)),
    Expr("result.f", lambda s: bool(s.result("f"))),
    Expr("response.status_code == 200", lambda s: s.status_code == 200),
    Expr("response.status_code == 503", lambda s: s.status_code == 503),
    Expr("error.code == 'timeout'", lambda s: s.code == "timeout"),
    Expr("this.status == 'success'", lambda s: s.outcome["status"] == "ok"),
)
TRUE = Expr("true", lambda s: True)


def _not(inner: Expr) -> Expr:
    return Expr(f"not ({inner.text})", lambda s: not inner.of(s))


def _and(left: Expr, right: Expr) -> Expr:
    return Expr(f"{left.text} and {right.text}", lambda s: left.of(s) and right.of(s))


def _or(left: Expr, right: Expr) -> Expr:
    return Expr(f"({left.text} or {right.text})", lambda s: left.of(s) or right.of(s))


outside = st.sampled_from(_OUTSIDE)
"""Conditions on `ctx` and `workload`."""
_atoms = st.sampled_from((*_OUTSIDE, *_INSIDE))
conditions = st.one_of(
    _atoms,
    _atoms.map(_not),
    st.builds(_and, _atoms, _atoms),
    st.builds(_or, _atoms, _atoms),
)

workloads = st.fixed_dictionaries({"w": st.integers(0, 2)})
results = st.fixed_dictionaries({"k": st.integers(0, 2), "f": st.booleans()})


def _outcome(status: str, result: Any, code: str, http: int | None) -> dict[str, Any]:
    found: dict[str, Any] = {"status": status}
    if result is not None:
        found["result"] = result
    if status == "error":
        found["code"] = code
    if http is not None:
        found["http"] = {"status": http}
    return found


_codes = st.sampled_from(("scripted", "timeout"))
plain_outcomes = st.one_of(
    st.builds(_outcome, st.just("ok"), results, _codes, st.none()),
    st.builds(_outcome, st.just("error"), st.none(), _codes, st.none()),
)
"""Of a tool that is no http."""
http_outcomes = st.one_of(
    st.builds(_outcome, st.just("ok"), results, _codes, st.sampled_from((200, 201))),
    st.builds(_outcome, st.just("error"), results, _codes, st.sampled_from((404, 503))),
    st.builds(_outcome, st.just("error"), st.none(), _codes, st.none()),
)
"""Of http: an answer, one that is an error and has a body, none at all."""
