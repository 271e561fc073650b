"""Random steps with `retry` in its forms, and the playbooks they stand in: s (the step) → a, which tells the result."""

from typing import Any, NamedTuple

from hypothesis import strategies as st

from translation.playing import tool
from translation.world import Expr, Seen, http_answers, plain_answers


class Mapping(NamedTuple):
    """`retry` as a mapping."""

    attempts: int
    retry_when: Expr | None
    stop_when: Expr | None


class Policy(NamedTuple):
    """A policy of the list. `about` is `error` or `response`; those about responses may fetch the next page."""

    about: str
    when: Expr
    attempts: int
    next_page: bool
    strategy: str
    path: str
    stores: bool


class Body(NamedTuple):
    """The step."""

    kind: str
    retry: Mapping | tuple[Policy, ...]
    answers: dict[str, list[dict[str, Any]]]


def _failed(seen: Seen) -> bool:
    return seen.outcome["status"] == "error"


def _page(seen: Seen, key: str) -> Any:
    """A part of the response, which only a success is."""
    return None if _failed(seen) else seen.result(key)


_FAILURES = (
    Expr("error == 'no timeout'", lambda s: s.code == "timeout"),
    Expr("not success", _failed),
    Expr("status_code == 503", lambda s: s.status_code == 503),
    Expr("status_code == 503 or not success", lambda s: s.status_code == 503 or _failed(s)),
)
_SUCCESSES = (
    Expr("result.k == 1", lambda s: s.result("k") == 1),
    Expr("success and data.f", lambda s: not _failed(s) and bool(s.result("f"))),
    Expr("result.f", lambda s: bool(s.result("f"))),
)
_conditions = st.sampled_from((*_FAILURES, *_SUCCESSES))
mappings = st.builds(Mapping, st.integers(1, 4), st.none() | _conditions, st.none() | _conditions)

_OF_ERRORS = (
    Expr("error.status == 503", lambda s: _failed(s) and s.status_code == 503),
    Expr("error.status in [404, 503]", lambda s: _failed(s) and s.status_code in (404, 503)),
    Expr("error.code == 'timeout'", lambda s: s.code == "timeout"),
    Expr("error.code is defined", lambda s: s.code is not None),
)
_OF_PAGES = (
    Expr("response.f", lambda s: bool(_page(s, "f"))),
    Expr("response.k > 0", lambda s: (_page(s, "k") or 0) > 0),
    Expr("response.k == 1 and response.f", lambda s: _page(s, "k") == 1 and bool(_page(s, "f"))),
)
_errors = st.builds(
    Policy, st.just("error"), st.sampled_from(_OF_ERRORS), st.integers(1, 4), st.just(False), st.just(""), st.just(""),
    st.just(False),
)  # fmt: skip
_strategies = st.sampled_from(
    (("", ""), ("append", "items"), ("append", "k"), ("append", ""), ("replace", "k"), ("merge", ""))
)
_pages = st.builds(
    lambda when, attempts, pages, how, stores: Policy("response", when, attempts, pages, *how, stores),
    st.sampled_from(_OF_PAGES), st.integers(1, 4), st.booleans(), _strategies, st.booleans(),
)  # fmt: skip


@st.composite
def policies(draw: st.DrawFn) -> tuple[Policy, ...]:
    """A list with at most one policy about responses, in any order."""
    found = draw(st.lists(_errors, max_size=2)) + draw(st.lists(_pages, max_size=1))
    return tuple(draw(st.permutations(found))) or (draw(_errors),)


_items = st.lists(st.integers(0, 9), max_size=2)


@st.composite
def bodies(draw: st.DrawFn, listed: bool) -> Body:
    """A step that is tried again."""
    kind = "http" if listed else draw(st.sampled_from(("http", "python")))
    answers = draw(st.lists(http_answers if kind == "http" else plain_answers, min_size=1, max_size=6))
    for answer in answers:
        if "result" in answer:
            answer["result"] = {**answer["result"], "items": draw(_items)}
    retry: Any = draw(policies() if listed else mappings)
    return Body(kind, retry, {"tool": answers})


def playbook_of(body: Body) -> dict[str, Any]:
    """The step in a playbook, in the words of the dialect."""
    args: dict[str, Any] = {"tag": "tool"}
    if not isinstance(body.retry, Mapping):
        args["page"] = 0
    step = {
        "step": "start",
        "tool": tool(body.kind, args),
        "retry": _mapping(body.retry) if isinstance(body.retry, Mapping) else [_policy(each) for each in body.retry],
        "next": [{"step": "a", "args": {"x": "{{ result }}"}}],
    }
    return {"workflow": [step, {"step": "a", "tool": tool("python", {"tag": "a", "got": "{{ args.x }}"})}]}


def _mapping(retry: Mapping) -> dict[str, Any]:
    found: dict[str, Any] = {"max_attempts": retry.attempts}
    if retry.retry_when is not None:
        found["retry_when"] = retry.retry_when.template
    if retry.stop_when is not None:
        found["stop_when"] = retry.stop_when.template
    return found


def _policy(policy: Policy) -> dict[str, Any]:
    then: dict[str, Any] = {"max_attempts": policy.attempts}
    if policy.next_page:
        then["next_call"] = {"params": {"page": "{{ response.k + 1 }}"}}
    if policy.strategy:
        then["collect"] = {"strategy": policy.strategy, "into": "pages"} | (
            {"path": policy.path} if policy.path else {}
        )
    if policy.stores:
        args = {"tag": "sink", "k": "{{ page.k }}", "at": "{{ _retry.index }}"}
        then["sink"] = {"tool": {"kind": "postgres", "auth": "pg"}, "table": "t", "args": args}
    return {"when": policy.when.template, "then": then}
