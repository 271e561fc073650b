"""Hints that a document may have that only lowering can tell: words of older dialects, block tags, a step `end`.

A construct's file is imported where there is such a hint: canonical playbooks start sooner.
"""

from collections.abc import Collection, Iterator
from re import compile as pattern

from noetl_ir import registry
from noetl_ir.expr import Literal, Name, walk
from noetl_ir.nearest import nearest
from noetl_ir.patterns import LatePattern
from noetl_ir.span import Span
from noetlc.ast.graph import END, ENTRY
from noetlc.ast.playbook import Step, Value
from noetlc.ast.sugar import Guess
from noetlc.ast.walk import expressions_in
from noetlc.reading.drafts import DocumentDraft
from noetlc.reading.reader import Reader
from noetlc.source.nodes import Mapping, Node, Scalar, Sequence

LOOSE = "a guard without braces around the whole"
"""The construct of a guard that `noetlc.older.loose` has read, as its change names it."""

_OLD = pattern(
    r"(?:(?<![\w.'\"])(?:vars|response|result|data|this|status_code|error|success|attempt|output|_err)"
    r"\b(?!['\"])|\boutcome\.response\b|(?<![\w.])loop\.(?:index|first)\b|['\"](?:call\.done|call\.error|step\.exit|step\.finished|success)['\"])"
)
"""Words of `noetlc.older.legacy_names`, where an expression may have them."""
_BEFORE_ENTRIES = ("noetl.io/v1", "noetl.io/v2")
"""Versions with files in which the first step is the entry, and leaves lead to a step `end`."""
_LIST = ", list)"
_LOOP_KEYS = LatePattern(r"['\"](?:results|stats)\\?['\"]")
"""What code may read of a loop; a quote may be escaped in YAML."""
_LONGEST = 200
_WORD = pattern(rf"[\w-]{{1,{_LONGEST}}}")
"""A name of ordinary length."""
_SLIP = 0.85
"""How much a step's name looks like `start` where it was to be that; `status` looks less so."""
_SECRET = LatePattern(r"(?<![\w.'\"])(?:(?:env|secrets?|auth|credentials?)\s*[.\[]|token\s*\()")
_SECRET_WORDS = ("env", "token", "secret", "auth", "credential")


_STORED = LatePattern(r"\b_(?:ref|store|preview)\b")
"""What stands under the name of a step for how its result is stored."""
_SQL_DATA = LatePattern(r"\.data\.(?:command_\d|rows\b|row_count\b|columns\b)|\bcommand_\d+['\"\]]*\[\d")
_SQL_WORDS = ("command_", ".data.row", ".data.columns")
"""A key of a SQL result behind a `data` that it does not have, or a row's number right behind a statement."""
_REQUEST = pattern(r"(?<![\w.'\"])(?:job|payload|spec|input|data)\b(?!['\"])")


def hints_of(r: Reader, draft: DocumentDraft, node: Mapping) -> tuple[Guess, ...]:
    """The sugar of a document that stands for what it may have."""
    text = r.source.text
    # Hints are found in the text, since most files have none of these words, and no expression has to be looked at
    # then. A hint too many costs a pass that changes nothing.
    asked = (_node("bind_lists", "AskedLists", node.span),) if _LIST in text else ()
    has_keys = ("results" in text or "stats" in text) and _LOOP_KEYS.search(text)  # plain words are found sooner
    if has_keys and any(step.loop is not None for step in draft.steps):
        asked = (*asked, _node("bind_loops", "AskedLoops", node.span))
    if ".results." in text or _reads_own(text, draft.steps):
        asked = (*asked, _node("task_results", "TaskResults", node.span))
    if "json }}" in text:
        asked = (*asked, _node("bind_json", "AskedJson", node.span))
    return (*_old_names(r, node, draft), *_implicit_end(draft, node), *_first_entry(draft, node), *asked)


def _reads_own(text: str, steps: Collection[Step]) -> bool:
    """Whether a name of a task may stand behind that of its step, or a step's own policy sets what it gave."""
    several = [step for step in steps if len(step.tasks) > 1]
    setting = [step for step in steps if step.tasks and any(r.set_ctx or r.set_iter for r in step.tasks[-1].rules)]
    if not several and not setting:
        return False
    before = _before_dots(text)

    def is_asked(step: Step) -> bool:
        return step.name in before if _WORD.fullmatch(step.name) else f"{step.name}." in text

    if any(map(is_asked, setting)):
        return True
    return any(f"{step.name}.{task.name}" in text for step in filter(is_asked, several) for task in step.tasks)


def _before_dots(text: str) -> frozenset[str]:
    """The words that stand before a dot: one look at the text for all steps, from each dot backwards."""
    ends = {part[: -_LONGEST - 1 : -1] for part in text.split(".")}
    return frozenset(found[0][::-1] for part in ends if (found := _WORD.match(part)) is not None)


def _implicit_end(draft: DocumentDraft, node: Mapping) -> tuple[Guess, ...]:
    """A step `end` that leaves may lead to: in a file without arcs, or where nothing names it."""
    ends = [step for step in draft.steps if step.name == END]
    if len(draft.steps) < 2 or not ends:
        return ()
    if any(step.router is not None for step in draft.steps):
        is_meant = _is_before_entries(node) and _is_mentioned_once(node.get("workflow"), END)
        return (_node("ends", "ImplicitEnd", ends[0].name_span)._replace(for_work=True),) if is_meant else ()
    return tuple(_node("ends", "ImplicitEnd", step.name_span) for step in ends)


def _is_mentioned_once(node: Node | None, word: str) -> bool:
    """Whether a word stands as a whole value, once; what is last in a file is looked at first, as a step `end` is."""
    found, waiting = 0, [node]
    while waiting and found < 2:
        here = waiting.pop()
        match here:
            case Scalar():
                found += here.text == word
            case Sequence():
                waiting += here.items
            case Mapping():
                waiting += [value for _, value in here.entries]
    return found == 1


def _is_before_entries(node: Mapping) -> bool:
    version = node.get("apiVersion")
    return isinstance(version, Scalar) and version.text in _BEFORE_ENTRIES


def _first_entry(draft: DocumentDraft, node: Mapping) -> tuple[Guess, ...]:
    """The first step is the entry where nothing else is, nor may have been meant to be."""
    listed = node.get("workflow")
    # With a step that could not be read, the first of those that could need not be the first of the file.
    is_whole = isinstance(listed, Sequence) and len(listed.items) == len(draft.steps) > 0
    is_named = draft.executor is not None and draft.executor.entry_step is not None
    if is_named or not is_whole or not _is_before_entries(node):
        return ()
    first, *others = draft.steps
    # A later step that is called `strat` was to be the entry. To begin with the first step then would run another
    # workflow than was meant; the missing `start` is told instead.
    if first.name == ENTRY or nearest(ENTRY, tuple(step.name for step in others), _SLIP):
        return ()
    return (_node("ends", "FirstEntry", first.name_span),)


def _old_names(r: Reader, node: Mapping, draft: DocumentDraft) -> Iterator[Guess]:
    """Whether the file has words in braces that older dialects use: one look at its text, no expression is read."""
    text = r.source.text
    inside = {part.partition("}}")[0] for part in text.split("{{")[1:]}  # most braces of a file hold the same few texts
    loose = any(change.construct.startswith(LOOSE) for change in r.changes)  # it had no braces to look behind
    if loose or any(map(_OLD.search, inside)):
        yield _node("names", "OldNames", node.span)
    blocks = {part.partition("%}")[0] for part in text.split("{%")[1:]}
    if loose or any(map(_REQUEST.search, inside | blocks)) or any(_reads_args(value) for _, value in draft.workload):
        yield _node("request", "OldRequest", node.span)
    if any(word in text for word in _SECRET_WORDS) and any(map(_SECRET.search, {text} if loose else inside | blocks)):
        yield _node("environment", "OldSecrets", node.span)
    if ("_ref" in text or "_store" in text or "_preview" in text) and _STORED.search(text):
        yield _node("storage", "StoredNames", node.span)
    if any(word in text for word in _SQL_WORDS) and _SQL_DATA.search(text):
        yield _node("sql_paths", "SqlData", node.span)
    if "{%" in text:
        yield _node("blocks", "OldBlocks", node.span)


def _reads_args(value: Value) -> bool:
    """Whether a workload value reads `args`, which are there only in steps."""
    exprs = (expr for expr, _ in expressions_in(value)) if type(value.template) is not Literal else ()
    return any(isinstance(part, Name) and part.name == "args" for expr in exprs for part in walk(expr))


def _node(module: str, name: str, span: Span) -> Guess:
    """The guess of that name in a construct's file, which is imported now."""
    made = registry.load("noetlc.older", module, name, type)(span)
    # Any other sugar is an older construct, and these words may be the author's own: `migrate --check` would say that
    # a file changes which does not.
    assert isinstance(made, Guess)
    return made
