"""`retry` as a list and `loop.pagination`: policies by the outcome, and pages of an answer (formal-extended §6).

lower_pages: `retry` as an ordered list becomes rules and a loop over pages (LANGUAGE §6, formal-extended §6).

    tool: t, retry: [{when: e, then: {max_attempts: 5}},
                     {when: g, then: {max_attempts: 9, next_call: {params: {p: n}}, collect: {path: x}, sink: s}}]
        →  __t__start   iter.__t__pages = [], iter.__t__page = 0, iter.__t__params = {}
           t            params: {p: iter.__t__params.p, else its own}
                        retry when error and e; when ok and g: iter.__t__more = 1, the next params, the page collected;
                        when ok: iter.__t__more = null, the page collected; what no policy selects fails
           __t__sink    every page is stored
           __t__page1   what the rule of a `case` does with the page that it is true of
           __t__again   jump to t when iter.__t__more == 1 and iter.__t__page + 1 < 9
           __t__result  the collected value

A repetition of success has its own counter and begins with the first attempt; `max_attempts` counts all pages, and
the loop stops there and keeps what it has. Without a number it goes on as long as there is a page: to stop at a
default would lose pages without a word.
"""

from collections.abc import Iterator

from noetl_ir.expr import Attribute, Binary, Call, Const, Expr, ListOf, Literal, MapOf, Name, Native, Template, Test
from noetl_ir.kinds import CALLED
from noetl_ir.paths import static_path
from noetl_ir.records import NamedTuple
from noetl_ir.span import Span
from noetlc.ast.bodies import Tasks, change_lists, map_lists, taken, with_lists
from noetlc.ast.playbook import Guard, Pairs, Playbook, Rule, Step, Task, Value
from noetlc.ast.sugar import Sugar
from noetlc.ast.walk import expressions_in, replace_steps
from noetlc.ast.workbook import pairs_of, template_of_pairs
from noetlc.diag.change import Change, ChangeClass, RecordChange
from noetlc.expr.generated import computed, constant, expression_of, generated_name, guard, jump, noop
from noetlc.expr.parser import parse_template
from noetlc.expr.rewrite import Replace
from noetlc.expr.shorthand import (
    OUTCOME_ERROR,
    OUTCOME_OK,
    TRUE,
    both,
    chosen,
    compared,
    equal,
    negated,
    otherwise,
    path,
    result_of,
)
from noetlc.expr.templates import all_with, fields_with, guard_with, native, pairs_with, value_with
from noetlc.older.chains import named_in_chain, read_in, renamed_chain, with_own_names
from noetlc.older.events import events_in, on_success
from noetlc.older.hoisting import kept_words, with_meanings
from noetlc.older.legacy_names import IN_RULES, Meanings, declared_in, declared_names, renamed, rule_meanings
from noetlc.older.loose import read_loose_guard
from noetlc.older.nearer import Nearer
from noetlc.older.page_nodes import Collect, Page, Pages, repeats_success
from noetlc.older.patching import OUTCOME, kept
from noetlc.older.repetition import (
    DEFAULT_ATTEMPTS,
    Repetition,
    both_guards,
    names_of_now,
    plain_repetition,
    read_attempts,
    read_repetition,
    retrying,
)
from noetlc.older.sinks import Sink, read_sink
from noetlc.older.variables import Assign, raw_meanings
from noetlc.reading.drafts import LoopDraft
from noetlc.reading.kinds import kind_of
from noetlc.reading.reader import Reader, stray_key, stray_keys
from noetlc.reading.shapes import choice_of, is_empty, mapping_of, missing, text_of, wrong_shape
from noetlc.reading.values import read_pairs, read_value
from noetlc.source.nodes import Mapping, Node, Scalar, Sequence, key_as, mapping_at


def read_retry(r: Reader, key: Scalar, node: Node) -> Repetition | Pages | None:
    """The policy or policies."""
    if is_empty(node):
        return None
    if isinstance(node, Sequence):
        policies = [page for item in node.items if (page := _page(r, item)) is not None]
        return Pages(tuple(policies), key.span) if policies else None
    if isinstance(node, Scalar) and isinstance(node.value, bool):
        # `false` is one attempt, which switches an inherited policy off; no policy at all would inherit it.
        return plain_repetition(DEFAULT_ATTEMPTS if node.value else 1, key.span)
    if isinstance(node, Scalar) and isinstance(node.value, int):
        return plain_repetition(read_attempts(r, node), key.span)
    mapping = mapping_of(r, node, f"`{key.text}`")
    if mapping is None:
        return None
    if mapping.key("on_error") is not None or mapping.key("on_success") is not None:
        return _two_lists(r, mapping, key)
    return read_repetition(r, mapping, key.span, ())


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
    stray_keys(r, "retry", mapping, _SELECTION)
    when = mapping.get("when") or mapping.get("while")
    asked = None if when is None else read_loose_guard(r, when, "`when`")
    body = mapping_of(r, then, "`then`")
    return None if body is None else _page_of(r, body, asked, mapping.span)


def read_page(r: Reader, body: Mapping, when: Guard | None) -> Page:
    """A policy whose parts stand in one mapping."""
    return _page_of(r, body, when, body.span)


def _page_of(r: Reader, body: Mapping, when: Guard | None, span: Span) -> Page:
    retry = read_repetition(r, body, span, _PAGE)
    again = body.get("while")
    while_true = None if again is None else read_loose_guard(r, again, "`while`")
    until = None if retry.until is None else guard(negated(retry.until.expr), retry.until.span)
    when = both_guards(both_guards(both_guards(when, while_true), retry.when), until)
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
    is_bounded = not pairs or any(body.get(name) is not None for name in ("max_attempts", "attempts"))
    return Page(when, retry, tuple(pairs), gathers, task, span, is_bounded)


def read_collect(r: Reader, node: Node) -> Collect:
    """`collect: {strategy, path, into}`; an empty one gathers nothing."""
    if not isinstance(node, Mapping):
        if not is_empty(node):
            wrong_shape(r, node, "`collect`", "`{strategy, path, into}`")
        return Collect("", (), "")
    stray_keys(r, "retry", node, _COLLECT)
    how = node.get("strategy") or node.get("mode")
    strategy = "append" if how is None else choice_of(r, how, "`strategy`", ("append", "extend", "replace", "merge"))
    where = node.get("path") or node.get("from")
    text = _path_of(r, where) if where is not None and not is_empty(where) else None
    into = node.get("into")
    name = text_of(r, into, "`into`") if into is not None else None
    return Collect(strategy or "append", tuple(text.split(".")) if text else (), name or "pages")


def _path_of(r: Reader, node: Node) -> str | None:
    """A path with or without braces around it."""
    text = text_of(r, node, "`path`")
    template = None if text is None or "{{" not in text else parse_template(text)[0]
    if text is None or template is None:
        return text
    here = static_path(template.expr) if isinstance(template, Native) else ()
    if not here:
        wrong_shape(r, node, "`path`", "the path of what is gathered, as in `response.data`")
    return ".".join(here)


def _two_lists(r: Reader, mapping: Mapping, key: Scalar) -> Pages:
    """`{on_error: {…}, on_success: {while, …}}`: a policy for either outcome."""
    names = ("on_error", "on_success")
    stray_keys(r, "retry", mapping, names)
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
    enabled = mapping.get("enabled")
    if isinstance(enabled, Scalar) and enabled.value is False:
        r.respelt(key.span, "`pagination` that is not enabled", "nothing: one page is asked for")
        return
    entries: list[tuple[Scalar, Node]] = []
    merged: list[tuple[Scalar, Node]] = []
    found: list[Page] = []
    for name, value in mapping.entries:
        if name.text in _PAGINATION:
            entries.append((key_as(name, _PAGINATION[name.text]), value))
        elif name.text in _MERGE:
            merged.append((key_as(name, _MERGE[name.text]), value))
        elif name.text == "retry":
            retry = mapping_of(r, value, "`retry`")
            found += [] if retry is None else [_page_of(r, retry, None, retry.span)]
        elif name.text in ("type", "enabled"):
            said = "nothing: what it asks for says how pages go on"
            r.respelt(name.span, f"`{name.text}` of `pagination`", said, "safe")
        else:
            stray_key(r, "pagination", name, (*_PAGINATION, *_MERGE, "retry", "type"))
    body = mapping_at(entries, mapping.span)
    if body.get("while") is None:
        missing(r, "the `continue_while` of `pagination`", key.span, help='write `continue_while: "{{ … }}"`')
        return
    collect = mapping_at(merged, mapping.span)
    entries.append((key_as(key, "collect"), collect))
    page = _page(r, mapping_at(entries, mapping.span))
    draft.extras.append(Pages((*found, *([page] if page is not None else [])), key.span))
    draft.paged = True


BY = "lower_pages"


def lower_pages(playbook: Playbook, record: RecordChange) -> Playbook:
    """The playbook without lists of retry policies."""
    known = declared_names(playbook)
    gathered: dict[str, Meanings] = {}

    def without(step: Step, task: Task) -> Tasks:
        pages, rest = taken(task, Pages)
        if pages is None:
            return (task,)
        while (other := taken(rest, Pages))[0] is not None:  # the tool's own policies come before those of its step
            record(Change(BY, other[0].span, "`retry` of a step", "safe", "nothing: the tool has its own"))
            rest = other[1]
        if rest.kind == "workbook" and any(page.next_call for page in pages.policies):
            # The entry's own fields would be called again: the first page, over and over.
            why = "the fields of a next call are those of the entry: write the task with its pages in the step"
            record(Change(BY, pages.span, "a loop over pages of a workbook entry", "refused", why))
            return (rest,)
        paged = _Paged(rest, _as_fields(pages, rest), declared_in(step, known), step)
        has_pages = any(map(repeats_success, pages.policies))
        construct = "paging" if has_pages else "`retry` by what happened"
        record(Change(BY, pages.span, construct, *paged.said))
        gathered[step.name] = {**gathered.get(step.name, {}), **paged.gathered()}
        return paged.tasks()

    playbook = change_lists(playbook, lambda step, tasks: tuple(made for task in tasks for made in without(step, task)))
    if not gathered:
        return playbook
    playbook = replace_steps(playbook, lambda step: _reading_pages(step, gathered.get(step.name), known))
    return _sharing_pages(playbook, gathered, known)


def _sharing_pages(playbook: Playbook, gathered: dict[str, Meanings], known: frozenset[str]) -> Playbook:
    """The playbook in which other steps, too, can read gathered pages by their name: bare, in `ctx` or
    behind the step.
    """
    roots = {step.name: _roots_of(step) for step in playbook.steps}
    bare = [(of, words[0]) for of, meanings in gathered.items() for words in meanings if len(words) == 1]
    into = {of: name for of, name in bare if name not in known}
    nearer = Nearer(playbook)

    def sharing(step: Step) -> Step:
        hidden = nearer.within(step)
        step = all_with(step, renamed({(of, name): result_of(of) for of, name in into.items() if of not in hidden}, ()))
        name = into.get(step.name)
        if name is None or step.loop is not None:
            return step
        if not any(name in read for other, read in roots.items() if other != step.name):
            return step
        whole = computed(Name("result"), step.name_span)
        return step._replace(extras=(Assign("`collect`", ((name, whole),), (), step.name_span), *step.extras))

    return replace_steps(playbook, sharing)


def _roots_of(step: Step) -> set[str]:
    """The names that a step reads: bare ones, and keys of `ctx`."""
    found: set[str] = set()

    def looked(expr: Expr) -> None:
        here = static_path(expr)
        found.update(here[1:2] if here[:1] in (("ctx",), ("vars",)) else here[:1])

    all_with(step, looked)
    return found


def _reading_pages(step: Step, gathered: Meanings | None, known: frozenset[str]) -> Step:
    """The step in which the name for its gathered pages is replaced by where they are kept."""
    if not gathered:
        return step
    names = renamed(gathered, declared_in(step, known | {task.name for task in step.tasks}))

    def read(tasks: Tasks) -> Tasks:
        return all_with(tasks, names)

    return step._replace(
        tasks=map_lists(step.tasks, read),
        extras=tuple(with_lists(extra, read) for extra in all_with(step.extras, names)),
        router=step.router if step.loop is not None else all_with(step.router, names),
    )


class _Paged(NamedTuple):
    """One task of a step, with its policies."""

    task: Task
    pages: Pages
    known: frozenset[str]
    step: Step

    @property
    def said(self) -> tuple[ChangeClass, str]:
        """The class of the change, and the words for what the construct became."""
        if any(repeats_success(page) for page in self.pages.policies):
            return "review", "rules that retry, and a loop over pages, which stops at its limit and keeps what it has"
        return "safe", "rules that retry; used up, they fail with `retry.exhausted`"

    def gathered(self) -> Meanings:
        """The paths by which the gathered pages are named, each with the expression that reads them."""
        into = [p.collect.into or "pages" for p in self.pages.policies if p.collect.strategy and repeats_success(p)]
        names = ((into[0],), ("ctx", into[0]), ("vars", into[0])) if into else ()
        return dict.fromkeys(names, path("iter", self._key("pages")))

    def tasks(self) -> Tasks:
        """The tasks that the task becomes."""
        task, span = self.task, self.pages.span
        errors = [page for page in self.pages.policies if not repeats_success(page)]
        more = [(n, page) for n, page in enumerate(self.pages.policies) if repeats_success(page)]
        rules: list[Rule] = []
        for page in errors:
            when = guard(both(OUTCOME_ERROR, self._asked(page)), page.span) if page.when else guard(OUTCOME_ERROR, span)
            rules.append(retrying(page.retry, when, page.span))
        own = tuple(rule for rule in task.rules if rule.when is not None and _keeps(rule)) if more else ()
        rules = [*self._unselected(errors, own), *own, *rules]
        if not more:
            # What fails anyway is said above: behind the retries it would take what is used up.
            rest = tuple(rule for rule in task.rules if rule.when is None or rule.when.expr != OUTCOME_ERROR)
            return (task._replace(rules=(*rules, *(rest or (Rule(None, "continue", span),)))),)
        collected = self._collected([page for _, page in more])
        for number, page in more:
            # What a rule does besides comes before the next call, which may read it.
            following = () if page.chain else self._next(page, self._now())
            patch = ((self._key("more"), constant(number, page.span)), *following, *collected)
            when = guard(both(OUTCOME_OK, self._asked(page)), page.span)
            rules.append(Rule(when, "continue", page.span, set_iter=patch))
        # The last page asks for no other one, and is collected as any other.
        last = ((self._key("more"), constant(None, span)), *collected)
        rules.append(Rule(guard(OUTCOME_OK, span), "continue", span, set_iter=last))
        fetching = self._calling([page for _, page in more])._replace(rules=tuple(rules))
        kinds = Sink | Assign if collected else Assign
        later = tuple(extra for extra in task.extras if isinstance(extra, kinds))
        fetching = fetching._replace(extras=tuple(extra for extra in task.extras if extra not in later))
        again = noop(generated_name(task.name, "again"), span, self._onward(more))
        if not collected:
            again = again._replace(extras=tuple(self._of_last_page(extra) for extra in later))
        of_pages = (*self._sinks(more), *self._chains(more))
        fetching = kept(fetching, (*read_in((*of_pages, again)), *_read_by(again.extras)))
        result: Tasks = ()
        if collected:
            whole = path("iter", collected[0][0])
            result_task = noop(generated_name(task.name, "result"), span, (), (("result", computed(whole, span)),))
            # What stores and sets is asked when all pages are there, and means all of them (REAL.md, flow).
            names = renamed({(task.name,): whole, (self.step.name,): whole}, frozenset())
            result = (result_task._replace(extras=all_with(later, names)),)
        elif any(not one.generated for one in of_pages):
            whole = result_of(task.name)
            result = (noop(generated_name(task.name, "result"), span, (), (("result", computed(whole, span)),)),)
        return (self._start(more), fetching, *of_pages, again, *result)

    def _unselected(self, errors: list[Page], own: tuple[Rule, ...]) -> tuple[Rule, ...]:
        """The rule for an error that no policy selects, nor a `retry` beside the list: it fails (§6.2, 4), and is asked
        before the retries, because a used-up one would come to it.
        """
        asked = [rule.when.expr for rule in own if rule.when is not None]
        if any(page.when is None for page in errors) or OUTCOME_ERROR in asked:
            return ()
        others = [negated(expr) for expr in (*(self._asked(page) for page in errors), *asked)]
        return (Rule(guard(both(OUTCOME_ERROR, *others), self.pages.span), "fail", self.pages.span),)

    def _key(self, *words: str) -> str:
        return generated_name(self.task.name, *words)

    def _asked(self, page: Page) -> Expr:
        if page.when is None:
            return TRUE
        when = guard(on_success(page.when.expr), page.when.span) if events_in(page.when.expr) else page.when
        return guard_with(when, self._now()).expr

    def _now(self) -> Replace:
        """The meanings of names where the next page is asked for, or another attempt."""
        return names_of_now(self.step, self.task, {**IN_RULES, **self._counts()}, self.known)

    def _counts(self) -> Meanings:
        """`_retry.index` and `_retry.count`: pages so far, from 1."""
        count = Binary("+", path("iter", self._key("page")), Const(1))
        return {("_retry", word): count for word in ("index", "count")}

    def _start(self, more: list[tuple[int, Page]]) -> Task:
        span = self.pages.span
        pairs: list[tuple[str, Value]] = [(self._key("page"), constant(0, span))]
        if ways := {page.collect.strategy for _, page in more if page.collect.strategy}:
            pairs.append((self._key("pages"), Value(Literal({} if "merge" in ways else []), span, None)))
        names = sorted({name for _, page in more for name, _ in page.next_call})
        pairs += [(self._key(name), Value(Literal({}), span, None)) for name in names]
        return noop(self._key("start"), span, (Rule(None, "continue", span, set_iter=tuple(pairs)),))

    def _next(self, page: Page, names: Replace) -> Pairs:
        """The fields that the next call is made with."""
        return tuple((self._key(name), value) for name, value in pairs_with(page.next_call, names))

    def _collected(self, more: list[Page]) -> Pairs:
        """The accumulator with the page that just came."""
        page = next((page for page in more if page.collect.strategy), None)
        if page is None:
            return ()
        keys = page.collect.path[1:] if page.collect.path[:1] in (("response",), ("result",)) else page.collect.path
        found, here = path("outcome", "result", *keys), path("iter", self._key("pages"))
        match page.collect.strategy:
            case "replace":
                value: Expr = found
            case "merge":
                value = Call(Name("dict"), (here,), (("**", found),))
            case _:
                value = Binary("+", here, chosen(is_list(found), found, ListOf((found,))))
        return ((self._key("pages"), computed(value, page.span)),)

    def _calling(self, more: list[Page]) -> Task:
        """The task, whose fields are those of the next call where there was one."""
        task = self.task
        fields = dict(task.fields)
        for name, value in [pair for page in more for pair in page.next_call]:
            here = path("iter", self._key(name))
            own = task.args if name == "args" else fields.get(name)
            # A null param is left out of a request; what else is null is there, and is not the same as absent.
            made = _overlaid(here, value, own, self.pages.span, may_be_null=name == "params")
            if name == "args":
                task = task._replace(args=made)
                if task.kind not in CALLED:
                    fields = self._with_args(fields, here, value)
            else:
                fields[name] = made
        return task._replace(fields=tuple(fields.items()))

    def _with_args(self, fields: dict[str, Value], here: Expr, value: Value) -> dict[str, Value]:
        """The fields of a task that is called with no args, which read those of the next call where they read args."""
        meanings: Meanings = {}
        for key in pairs_of(value.template) or {}:
            asked = otherwise(Attribute(here, key), path("args", key))
            meanings = {**meanings, ("args", key): asked, **({} if key in self.known else {(key,): asked})}
        return {name: value_with(field, renamed(meanings, ())) for name, field in fields.items()}

    def _sinks(self, more: list[tuple[int, Page]]) -> Tasks:
        """The task that stores every page."""
        sink = next((page.sink for _, page in more if page.sink is not None), None)
        if sink is None:
            return ()
        name = self._key("sink")
        return (fields_with(sink, renamed(self._of_page(), self.known))._replace(name=name, generated=True),)

    def _of_page(self) -> Meanings:
        """The meanings of names in tasks that are about one page: its outcome, and what was gathered so far."""
        page = result_of(self.task.name)
        meanings = {**rule_meanings(path("iter", OUTCOME), page), **self._counts(), ("page",): page}
        return {**meanings, (self.step.name,): page, **self.gathered()}

    def _taken(self, number: int) -> set[str]:
        """The names that tasks of the step have, and those of the chains of pages before."""
        names = {task.name for task in self.step.tasks}
        return names | {task.name for page in self.pages.policies[:number] for task in page.chain}

    def _behind_chain(self, page: Page, number: int) -> Replace:
        """The meanings of names behind the chain of a page: what the page was, and the tasks of the chain."""
        own = with_own_names(page.chain, self._taken(number), f"page{number}")
        pairs = zip(page.chain, own, strict=True)
        tasks: Meanings = {(old.name,): Name(new.name) for old, new in pairs if not old.generated}
        return renamed({**self._of_page(), **tasks}, self.known)

    def _of_last_page(self, extra: Sugar) -> Sugar:
        """The values that the task sets: once, of the last page, whose outcome is kept."""
        outcome, page = path("iter", OUTCOME), result_of(self.task.name)
        raw = isinstance(extra, Assign) and extra.word == "`set`"
        meanings = {**self._of_page(), **(raw_meanings(self.task.kind, outcome, page) if raw else {})}
        return all_with(extra, renamed(meanings, self.known))

    def _chains(self, more: list[tuple[int, Page]]) -> Tasks:
        """The work of rules on the pages that they are true of."""
        made: list[Task] = []
        meanings = self._of_page()
        for number, page in more:
            if not page.chain:
                continue
            name, span = self._key(f"page{number}"), page.span
            own = with_own_names(page.chain, self._taken(number), f"page{number}")
            own = renamed_chain(named_in_chain(name, own), renamed(meanings, self.known))
            own = tuple(with_meanings(task, meanings, self.known) for task in own)
            done = noop(generated_name(name, "done"), span)
            asked = guard(equal(path("iter", self._key("more")), number), span)
            made += (noop(name, span, (Rule(asked, "continue", span), jump(done.name, span))), *own, done)
        return tuple(made)

    def _onward(self, more: list[tuple[int, Page]]) -> tuple[Rule, ...]:
        """Whether there is another page, for each policy that said so."""
        rules: list[Rule] = []
        done = Binary("+", path("iter", self._key("page")), Const(1))
        for number, page in more:
            asked = equal(path("iter", self._key("more")), number)
            within = (compared(done, "<", Const(page.retry.attempts)),) if page.is_bounded else ()
            left = guard(both(asked, *within), page.span)
            counted: Pairs = ((self._key("page"), computed(done, page.span)),)
            if page.chain:
                counted = (*counted, *self._next(page, self._behind_chain(page, number)))
            back = jump(self.task.name, page.span, when=left, set_iter=counted)
            rules.append(back._replace(delay=self._delay(page)))
        return (*rules, Rule(None, "continue", self.pages.span))

    def _delay(self, page: Page) -> Value | None:
        retry = page.retry
        if retry.delay is None or retry.backoff != "exponential":
            return retry.delay
        grown = Binary("**", Const(retry.multiplier), path("iter", self._key("page")))
        return computed(Binary("*", expression_of(retry.delay.template), grown), page.span)


def _read_by(extras: tuple[Sugar, ...]) -> Iterator[Expr]:
    """The expressions of what is set."""
    for extra in extras:
        if isinstance(extra, Assign):
            values = [value for _, value in (*extra.set_ctx, *extra.set_iter)]
            yield from (expr for value in values for expr, _ in expressions_in(value))
            yield from kept_words(values)


def _keeps(rule: Rule) -> bool:
    """Whether a rule beside the list holds: a `retry`, and a failure with a code of its own."""
    return rule.directive == "retry" or (rule.directive == "fail" and rule.code is not None)


def _as_fields(pages: Pages, task: Task) -> Pages:
    """The policies whose next calls give what the task has: `params` of a kind without such a field are its args."""
    kind = kind_of(task.kind)

    def named(page: Page) -> Page:
        pairs = [
            (key if kind is None or key in kind.fields else "args", value)
            for key_path, whole in page.next_call
            for key, value in _fields_in(key_path, whole)
        ]
        return page._replace(next_call=tuple(pairs))

    def _fields_in(key: str, value: Value) -> Pairs:
        """`args` that hold fields of the kind, as `args: {params: …}`, are those fields."""
        inside = pairs_of(value.template) if key == "args" and kind is not None else None
        if not inside or kind is None or not inside.keys() <= kind.fields.keys():
            return ((key, value),)
        return tuple((name, Value(template, value.span, None)) for name, template in inside.items())

    return pages._replace(policies=tuple(named(page) for page in pages.policies))


def is_list(expr: Expr) -> Expr:
    """Whether a value is a list."""
    plain = [negated(Test(expr, name, (), ())) for name in ("string", "mapping")]
    return both(Test(expr, "sequence", (), ()), *plain)


def _overlaid(here: Expr, value: Value, own: Value | None, span: Span, *, may_be_null: bool) -> Value:
    """A field as the next call has it, key by key where it is a mapping, else as it was written. A key that only the
    next call has is not there before, or null where it `may_be_null`.
    """
    keys = pairs_of(value.template)
    if keys is None:
        before = Const(None) if own is None else expression_of(own.template)
        return computed(chosen(here, here, before), span)
    below = {} if own is None else pairs_of(own.template) or {}
    if not may_be_null and not keys.keys() <= below.keys():
        before = MapOf(()) if own is None else expression_of(own.template)
        return computed(Call(Name("dict"), (before,), (("**", here),)), span)
    made: dict[str, Template] = dict(below)
    for key in keys:
        first = expression_of(below[key]) if key in below else Const(None)
        made[key] = native(otherwise(Attribute(here, key), first))
    return Value(template_of_pairs(made), span, None)
