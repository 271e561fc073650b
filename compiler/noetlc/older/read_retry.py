"""`retry` as a mapping, a number, a truth value or a list, and `poll` (formal §7, formal-extended §6, case §4)."""

from noetl_ir.expr import Compare, Const, Expr, ListOf
from noetl_ir.span import Span
from noetlc.ast.playbook import Guard, Value
from noetlc.diag.change import Change
from noetlc.expr.generated import constant, guard
from noetlc.expr.shorthand import both, defined, either, negated, one_of, path
from noetlc.older.loose import read_loose_guard
from noetlc.older.read_sink import read_sink
from noetlc.older.repeat_nodes import Collect, OnError, Page, Pages, Poll, Repetition, Retry
from noetlc.reading.drafts import ExecutorDraft, LoopDraft, StepDraft, StepSpecDraft, TaskDraft
from noetlc.reading.reader import Reader, stray_key
from noetlc.reading.shapes import boolean_of, choice_of, is_empty, mapping_of, missing, number_of, text_of, wrong_shape
from noetlc.reading.values import read_duration, read_pairs, read_value
from noetlc.source.nodes import Mapping, Node, Scalar, Sequence, mapping_at, scalar_at

Carrier = StepDraft | TaskDraft | StepSpecDraft | ExecutorDraft

_NAMES = {
    "max_attempts": "attempts",
    "attempts": "attempts",
    "initial_delay": "delay",
    "delay": "delay",
    "delay_seconds": "delay",
    "backoff_multiplier": "multiplier",
    "multiplier": "multiplier",
    "max_delay": "max_delay",
    "max_delay_seconds": "max_delay",
    "jitter": "jitter",
    "backoff": "backoff",
    "type": "backoff",
    "retry_when": "when",
    "when": "when",
    "stop_when": "until",
    "on": "on",
    "retry_on": "on",
    "scope": "scope",
}
"""Every key of a policy, and what it is about."""

_BACKOFFS = {"fixed": "none", "none": "none", "linear": "linear", "exponential": "exponential"}
DEFAULT_ATTEMPTS = 3


def take_retry(r: Reader, draft: Carrier, key: Scalar, node: Node) -> None:
    """Take `retry` in any form."""
    r.legacy_seen = True
    found = read_retry(r, key, node)
    if found is not None:
        draft.extras.append(found if isinstance(found, Pages) else Retry(found, key.span))


def read_retry(r: Reader, key: Scalar, node: Node) -> Repetition | Pages | None:
    """The policy or policies."""
    if is_empty(node):
        return None
    if isinstance(node, Sequence):
        policies = [page for item in node.items if (page := _page(r, item)) is not None]
        return Pages(tuple(policies), key.span) if policies else None
    if isinstance(node, Scalar) and isinstance(node.value, bool):
        return _plain(DEFAULT_ATTEMPTS if node.value else 1, key.span)
    if isinstance(node, Scalar) and isinstance(node.value, int):
        return _plain(_attempts(r, node), key.span)
    mapping = mapping_of(r, node, f"`{key.text}`")
    if mapping is None:
        return None
    if mapping.key("on_error") is not None or mapping.key("on_success") is not None:
        return _two_lists(r, mapping, key)
    return _policy(r, mapping, key.span, ())


def _plain(attempts: int, span: Span) -> Repetition:
    return Repetition(attempts, "none", None, 2.0, None, False, None, None, "tool", span)


def _attempts(r: Reader, node: Node) -> int:
    value = node.value if isinstance(node, Scalar) else None
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
        return value
    r.report("NL501", "`max_attempts` must be a whole number of at least 1", node.span)
    return DEFAULT_ATTEMPTS


def _policy(r: Reader, mapping: Mapping, span: Span, others: tuple[str, ...]) -> Repetition:
    """The keys of one policy; `others` belong to somebody else."""
    given: dict[str, Node] = {}
    for key, value in mapping.entries:
        about = _NAMES.get(key.text)
        if about == "backoff" and isinstance(value, Mapping):
            for inner, item in value.entries:
                if inner.text in _NAMES:
                    given[_NAMES[inner.text]] = item
                else:
                    stray_key(r, "retry", inner, tuple(_NAMES))
        elif about is not None:
            given[about] = value
        elif key.text not in others:
            stray_key(r, "retry", key, (*_NAMES, *others))
    backoff = "exponential" if "multiplier" in given else "none"
    if "backoff" in given:
        backoff = _BACKOFFS[choice_of(r, given["backoff"], "`backoff`", tuple(_BACKOFFS)) or "none"]
    return Repetition(
        _attempts(r, given["attempts"]) if "attempts" in given else DEFAULT_ATTEMPTS,
        backoff,
        _duration(r, given, "delay"),
        number_of(r, given["multiplier"], "`multiplier`") or 2.0 if "multiplier" in given else 2.0,
        _duration(r, given, "max_delay"),
        bool("jitter" in given and boolean_of(r, given["jitter"], "`jitter`")),
        _both(_causes(r, given["on"]) if "on" in given else None, _guard(r, given, "when")),
        _guard(r, given, "until"),
        choice_of(r, given["scope"], "`scope`", ("tool", "chain", "step")) or "tool" if "scope" in given else "tool",
        span,
    )


_ANY_CAUSE = frozenset({"error", "exception", "any", "all", "failure"})


def _causes(r: Reader, node: Node) -> Guard | None:
    """What `on` says of the errors that repeat: codes, or numbers that http answers with; None where any does."""
    items = node.items if isinstance(node, Sequence) else [node]
    words = [item.text for item in items if isinstance(item, Scalar) and not is_empty(item)]
    if len(words) < len(items):
        wrong_shape(r, node, "`on`", "`error`, the code of an error, a status of http, or a list of them")
    if not words or _ANY_CAUSE & set(words):
        return None
    asked: list[Expr] = []
    if "status_code" in words:
        asked.append(defined(path("outcome", "http", "status")))
    statuses = tuple(Const(int(word)) for word in words if word.isdecimal())
    if statuses:
        asked.append(Compare(path("outcome", "http", "status"), (("in", ListOf(statuses)),)))
    codes = tuple(word for word in words if not word.isdecimal() and word != "status_code")
    if codes:
        asked.append(one_of(path("outcome", "error", "code"), codes))
    return guard(either(*asked), node.span)


def _both(first: Guard | None, second: Guard | None) -> Guard | None:
    return (
        guard(both(first.expr, second.expr), second.span)
        if first is not None and second is not None
        else first or second
    )


def _guard(r: Reader, given: dict[str, Node], about: str) -> Guard | None:
    return read_loose_guard(r, given[about], f"`{about}`") if about in given and not is_empty(given[about]) else None


def _duration(r: Reader, given: dict[str, Node], about: str) -> Value | None:
    return read_duration(r, given[about], f"`{about}`") if about in given else None


_PAGE = ("next_call", "collect", "sink", "while", "params", "args", "desc")
_SELECTION = ("when", "while", "then", "else", "name", "desc")
_COLLECT = ("strategy", "mode", "path", "from", "into")


def _page(r: Reader, node: Node) -> Page | None:
    """`{when, then: {max_attempts, next_call, collect, sink}}`."""
    mapping = mapping_of(r, node, "a retry policy")
    if mapping is None:
        return None
    then = mapping.get("then") or mapping.get("else")
    if then is None:
        return _page_of(r, mapping, None, mapping.span)
    for key, _ in mapping.entries:
        if key.text not in _SELECTION:
            stray_key(r, "retry", key, _SELECTION)
    when = mapping.get("when") or mapping.get("while")
    asked = None if when is None else read_loose_guard(r, when, "`when`")
    body = mapping_of(r, then, "`then`")
    return None if body is None else _page_of(r, body, asked, mapping.span)


def read_page(r: Reader, body: Mapping, when: Guard | None) -> Page:
    """A policy whose parts stand in one mapping."""
    return _page_of(r, body, when, body.span)


def _page_of(r: Reader, body: Mapping, when: Guard | None, span: Span) -> Page:
    retry = _policy(r, body, span, _PAGE)
    again = body.get("while")
    while_true = None if again is None else read_loose_guard(r, again, "`while`")
    until = None if retry.until is None else guard(negated(retry.until.expr), retry.until.span)
    when = _both(_both(_both(when, while_true), retry.when), until)
    retry = retry._replace(when=None, until=None)
    call = body.get("next_call")
    pairs = read_pairs(r, call, "`next_call`") if call is not None else []
    for name in ("params", "args"):
        node = body.get(name)
        if node is not None:
            pairs.append((name, read_value(r, node)))
    collect = body.get("collect")
    gathers = read_collect(r, collect) if collect is not None else Collect("", (), "")
    key, sink = body.key("sink"), body.get("sink")
    stored = read_sink(r, key, sink) if key is not None and sink is not None else None
    if stored is not None and stored.when is not None:
        why = "every page is stored: put the condition into the `when` of the policy"
        r.changes.append(Change("read", stored.when.span, "`when` of a sink of pages", "refused", why))
    task = None if stored is None else stored.task
    return Page(when, retry, tuple(pairs), gathers, task, span)


def read_collect(r: Reader, node: Node) -> Collect:
    """`collect: {strategy, path, into}`; an empty one gathers nothing."""
    if not isinstance(node, Mapping):
        if not is_empty(node):
            wrong_shape(r, node, "`collect`", "`{strategy, path, into}`")
        return Collect("", (), "")
    for key, _ in node.entries:
        if key.text not in _COLLECT:
            stray_key(r, "retry", key, _COLLECT)
    how = node.get("strategy") or node.get("mode")
    strategy = "append" if how is None else choice_of(r, how, "`strategy`", ("append", "extend", "replace", "merge"))
    where = node.get("path") or node.get("from")
    text = text_of(r, where, "`path`") if where is not None and not is_empty(where) else None
    into = node.get("into")
    name = text_of(r, into, "`into`") if into is not None else None
    return Collect(strategy or "append", tuple(text.split(".")) if text else (), name or "pages")


def _two_lists(r: Reader, mapping: Mapping, key: Scalar) -> Pages:
    """`{on_error: {…}, on_success: {while, …}}`: a policy for either outcome."""
    names = ("on_error", "on_success")
    for name, _ in mapping.entries:
        if name.text not in names:
            stray_key(r, "retry", name, names)
    bodies = [mapping_of(r, node, f"`{name}`") for name in names if (node := mapping.get(name)) is not None]
    return Pages(tuple(_page_of(r, body, None, body.span) for body in bodies if body is not None), key.span)


_PAGINATION = {
    "continue_while": "while", "while": "while", "next_page": "next_call", "next_call": "next_call",
    "max_iterations": "max_attempts", "max_pages": "max_attempts", "max_attempts": "max_attempts",
}  # fmt: skip
_MERGE = {"merge_strategy": "strategy", "merge_path": "path", "into": "into"}


def take_pagination(r: Reader, draft: LoopDraft, key: Scalar, node: Node) -> None:
    """`loop.pagination`: a policy that repeats a success for the next page, and `retry` for errors."""
    r.legacy_seen = True
    mapping = mapping_of(r, node, "`pagination`")
    if mapping is None:
        return
    entries: list[tuple[Scalar, Node]] = []
    merged: list[tuple[Scalar, Node]] = []
    found: list[Page] = []
    for name, value in mapping.entries:
        if name.text in _PAGINATION:
            entries.append((_called(name, _PAGINATION[name.text]), value))
        elif name.text in _MERGE:
            merged.append((_called(name, _MERGE[name.text]), value))
        elif name.text == "retry":
            retry = mapping_of(r, value, "`retry`")
            found += [] if retry is None else [_page_of(r, retry, None, retry.span)]
        elif name.text in ("type", "enabled"):
            r.respelt(name.span, f"`{name.text}` of `pagination`", "nothing")
        else:
            stray_key(r, "pagination", name, (*_PAGINATION, *_MERGE, "retry", "type"))
    body = mapping_at(entries, mapping.span)
    if body.get("while") is None:
        missing(r, "the `continue_while` of `pagination`", key.span, help='write `continue_while: "{{ … }}"`')
        return
    collect = mapping_at(merged, mapping.span)
    entries.append((scalar_at("collect", "collect", style="", span=key.span, source=key.source), collect))
    page = _page(r, mapping_at(entries, mapping.span))
    draft.extras.append(Pages((*found, *([page] if page is not None else [])), key.span))
    draft.paged = True


def _called(key: Scalar, name: str) -> Scalar:
    return scalar_at(name, name, style=key.style, span=key.span, source=key.source)


def take_poll(r: Reader, draft: StepDraft | TaskDraft, key: Scalar, node: Node) -> None:
    """`poll: {until, interval, max_attempts, deadline}`."""
    r.legacy_seen = True
    mapping = mapping_of(r, node, "`poll`")
    if mapping is None:
        return
    given = {name.text: value for name, value in mapping.entries}
    for name, _ in mapping.entries:
        if name.text not in ("until", "interval", "max_attempts", "deadline"):
            stray_key(r, "poll", name, ("until", "interval", "max_attempts", "deadline"))
    if "until" not in given:
        missing(r, "the `until` of `poll`", key.span, help='write `until: "{{ … }}"`')
        return
    until = read_loose_guard(r, given["until"], "`until`")
    most = constant(_attempts(r, given["max_attempts"]), key.span) if "max_attempts" in given else None
    if until is not None:
        interval, deadline = _duration(r, given, "interval"), _duration(r, given, "deadline")
        draft.extras.append(Poll(until, interval, most, deadline, key.span))


def take_on_error(r: Reader, draft: StepDraft | TaskDraft | StepSpecDraft, key: Scalar, node: Node) -> None:
    """`on_error: fail | ignore | continue | retry`."""
    r.legacy_seen = True
    mode = choice_of(r, node, "`on_error`", ("fail", "ignore", "continue", "retry"))
    if mode is not None:
        draft.extras.append(OnError("ignore" if mode == "continue" else mode, key.span))
