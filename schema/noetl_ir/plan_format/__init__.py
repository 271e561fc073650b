"""The byte form of a plan.

    magic "NOETLPLN" · format version (2 bytes) · length of the body (8 bytes) · sha-256 of all that follows
    · body (msgpack) · the embedded plans' bytes, one after the other

Numbers are big-endian. The digest of a plan is that of its version, body and children. Equal plans have equal
bytes: tables are written as columns in a fixed order, expressions as rows that share equal nodes, and the
keys of mappings keep the order of the file, which is part of a playbook's meaning. Offsets inside templates
are not written. A plan never changes meaning under the same version.
"""

from collections.abc import Iterator, Sequence
from typing import Protocol, TypeVar, cast

from noetl_ir import codec
from noetl_ir.collecting import uncollected
from noetl_ir.digests import sha256
from noetl_ir.expr import Template
from noetl_ir.net import Arc as NetArc
from noetl_ir.net import Net, Place, PlaceClass, Transition, Trigger
from noetl_ir.plan import (
    Arc,
    Cancel,
    Child,
    Compensation,
    Concurrency,
    Input,
    Interrupt,
    IterationLimit,
    Join,
    KeychainEntry,
    Limits,
    Locks,
    Loop,
    LoopEnd,
    LoopSignal,
    Phase,
    Plan,
    Reducer,
    Rule,
    SearchAttribute,
    Section,
    Step,
    Task,
    Terminate,
)
from noetl_ir.plan_format import extensions
from noetl_ir.plan_format.columns import (
    FLAG,
    NUMBER,
    PLACE,
    REAL,
    SPAN,
    TEXT,
    WEIGHT,
    WORD,
    Malformed,
    Plain,
    Records,
    choices,
    enter,
    list_of_column,
    lists,
    optional,
    records,
)
from noetl_ir.plan_format.nodes import BadNodes, ExpressionReader, Expressions
from noetl_ir.plan_format.packed import Packed, PackedRows, PackedTable
from noetl_ir.plan_format.templates import LateTemplates, row_of, template_of
from noetl_ir.verify import verify
from noetl_ir.words import CAUSES

T = TypeVar("T")

MAGIC = b"NOETLPLN"
VERSION = 4
READABLE = (1, 2, 3, 4)
"""The versions that are read: each keeps its meaning, which `Plan.edition` tells."""
MAX_BYTES = 1 << 30
MAX_DEPTH = 300
MAX_ITEMS = 100_000_000
MAX_CHILDREN = 10_000

_LENGTHS = len(MAGIC) + 2 + 8
HEADER = _LENGTHS + 32
"""How many bytes stand before the body."""

_ARCS = lists(records(NetArc, NUMBER, WEIGHT))
_PLACES = records(Place, TEXT, choices(PlaceClass), WORD, NUMBER, NUMBER, NUMBER, PLACE, WORD)
_TRANSITIONS = records(
    Transition,
    *(TEXT, choices(Trigger), WORD, _ARCS, _ARCS, NUMBER, FLAG),
    *(NUMBER, NUMBER, NUMBER, NUMBER, WORD, PLACE, WORD),
)
_PAIRS = lists(records(tuple, TEXT, NUMBER))
_RULE = records(
    Rule,
    *(NUMBER, WORD, SPAN, NUMBER, WORD, NUMBER, REAL, NUMBER, FLAG),
    *(NUMBER, NUMBER, NUMBER, _PAIRS, _PAIRS),
)
_TASKS = records(
    Task,
    *(TEXT, NUMBER, WORD, NUMBER, NUMBER, NUMBER, NUMBER, lists(_RULE), NUMBER, FLAG, SPAN, FLAG),
)
_TABLE_ARCS = records(Arc, NUMBER, NUMBER, NUMBER, NUMBER, NUMBER, SPAN)
_LOOP = records(Loop, NUMBER, TEXT, FLAG, NUMBER, WORD, SPAN)
_JOIN = records(Join, WORD, NUMBER, lists(TEXT))
_STEPS = records(
    Step,
    *(TEXT, _JOIN, FLAG, FLAG, lists(_LOOP), lists(NUMBER), lists(NUMBER), FLAG, NUMBER, FLAG, WORD),
    *(optional(lists(lists(TEXT))), lists(TEXT), FLAG, SPAN),
)
_KEYCHAIN = records(KeychainEntry, TEXT, WORD, NUMBER, SPAN)
_INITIAL = records(tuple, NUMBER, NUMBER)
_LIMITS = records(Limits, NUMBER, NUMBER, NUMBER, NUMBER, NUMBER, NUMBER)
_FIRST_LIMITS = records(tuple, NUMBER, NUMBER, NUMBER, NUMBER)
"""The limits of formats 1 and 2; those that came later have their defaults there."""


class PlanError(Exception):
    """Bytes are not a plan that can be run; the text says why, in plain words."""


def write_plan(plan: Plan) -> bytes:
    """The bytes of a plan."""
    with uncollected():
        # The collector would walk a million young tuples again and again here, and none of them is in a cycle.
        body = codec.pack_record(_body(plan))
    # The plan's own edition, not the newest: a plan that is read and written again keeps its bytes and its digest.
    head = MAGIC + plan.edition.to_bytes(2, "big") + len(body).to_bytes(8, "big")
    children = [child.data for child in plan.children]
    return b"".join([head, _sha256([head, body, *children]), body, *children])


def read_plan(data: bytes) -> Plan:
    """The plan of some bytes, checked through and through. Raises PlanError."""
    return _read(data, _whole)


def open_plan(data: bytes, *, verified: bool = False) -> Plan:
    """The plan of some bytes, to run: the rows of its net are made when they are asked for. Raises PlanError.

    Bytes that this version has read before with all checks are `verified`: their digest is checked, so that they are
    the same, and nothing else. What is not asked of them is not made.
    """
    return _read(data, PackedTable, verified=verified)


def digest_of(data: bytes) -> str:
    """The digest of a plan's bytes in hexadecimal, without reading the plan. Raises PlanError."""
    if len(data) < HEADER or not data.startswith(MAGIC):
        raise PlanError("this is not a plan")
    return data[_LENGTHS:HEADER].hex()


def digests_in(data: bytes) -> Iterator[str]:
    """The digests of a plan and of those that it embeds, and these, without reading them: some may come twice, and of
    damaged bytes those before the damage.
    """
    at = 0
    # The plans in a plan lie behind its body, each before those that it embeds itself.
    while data.startswith(MAGIC, at) and len(data) >= at + HEADER:
        yield data[at + _LENGTHS : at + HEADER].hex()
        at += HEADER + int.from_bytes(data[at + len(MAGIC) + 2 : at + _LENGTHS], "big")


def _read(data: bytes, rows: "_Kept", *, verified: bool = False) -> Plan:
    edition, body, children = _split(data)
    try:
        parts = codec.PartReader(body, max_depth=MAX_DEPTH, max_items=MAX_ITEMS, known=verified)
        plan = _plan(parts, children, rows, edition, verified=verified)
    except (codec.CodecError, Malformed, BadNodes) as problem:
        raise PlanError(f"the plan is damaged: {problem}") from problem
    # Every plan from outside is proved sound before it runs: bytes with a right digest can be anybody's.
    problems = () if verified else verify(plan)
    if problems:
        raise PlanError(f"the plan is not sound: {problems[0]}")
    return plan


class _Kept(Protocol):
    """How rows are kept."""

    def __call__(self, rows: PackedRows[T], /) -> Sequence[T]: ...


def _split(data: bytes) -> tuple[int, memoryview, memoryview]:
    """The version, the body and the embedded plans."""
    if not data.startswith(MAGIC):
        raise PlanError("this is not a plan" if data else "the plan is empty")
    if len(data) < HEADER:
        raise PlanError("the plan is truncated")
    if len(data) > MAX_BYTES:
        raise PlanError(f"the plan is larger than {MAX_BYTES} bytes")
    version = int.from_bytes(data[len(MAGIC) : len(MAGIC) + 2], "big")
    # Asked before the digest: a plan of a later version is to be told as that, not as one that was altered.
    if version not in READABLE:
        age = "newer than" if version > VERSION else "not"
        raise PlanError(f"the plan has format {version}, which is {age} the one known here ({VERSION})")
    length = int.from_bytes(data[len(MAGIC) + 2 : _LENGTHS], "big")
    if HEADER + length > len(data):
        raise PlanError("the plan is truncated")
    view = memoryview(data)
    # Against damage and mixed-up files only. Whoever alters a plan can make the digest anew, which is why `verify`
    # follows.
    if _sha256([view[:_LENGTHS], view[HEADER:]]) != data[_LENGTHS:HEADER]:
        raise PlanError("the plan was altered or cut: its digest is not that of its content")
    return version, view[HEADER : HEADER + length], view[HEADER + length :]


def _sha256(parts: Sequence[bytes | memoryview]) -> bytes:
    digest = sha256(sum(map(len, parts)))
    for part in parts:
        digest.update(part)
    return digest.digest()


def _body(plan: Plan) -> tuple[Plain, ...]:
    expressions = Expressions()
    templates = [row_of(template, expressions) for template in plan.templates]
    net = [
        _PLACES.flatten(plan.net.places),
        _TRANSITIONS.flatten(plan.net.transitions),
        _INITIAL.flatten(plan.net.initial),
    ]
    tables = [
        _STEPS.flatten(plan.steps),
        _TASKS.flatten(plan.tasks),
        _TABLE_ARCS.flatten(plan.arcs),
        _KEYCHAIN.flatten(plan.keychain),
        _LIMITS.flatten([plan.limits]) if plan.edition > 2 else _FIRST_LIMITS.flatten([plan.limits[:4]]),
    ]
    return (
        [plan.name, plan.path, plan.version, plan.source],
        net,
        [expressions.listed(), templates, SPAN.flatten(plan.template_spans)],
        tables,
        [plan.entry, plan.workload],
        [plan.best_effort, plan.aliases],
        list(plan.workload_order),
        plan.executor,
        list(plan.kinds),
        [[child.path, child.digest, len(child.data)] for child in plan.children],
        *([extensions.written_section(plan)] if plan.edition > 3 else []),
    )


def _plan(body: codec.PartReader, children: memoryview, rows: _Kept, edition: int, *, verified: bool) -> Plan:
    enter(body, 11 if edition > 3 else 10)
    name, path, version, source = TEXT.checked(_exactly(body.value(), 4))
    net = _net(body, rows, verified=verified)
    enter(body, 3)
    templates = _templates(body, verified=verified)
    template_spans = rows(_table(SPAN, body, verified=verified))
    enter(body, 5)
    steps = rows(_table(_STEPS, body, verified=verified))
    tasks, arcs = rows(_table(_TASKS, body, verified=verified)), rows(_table(_TABLE_ARCS, body, verified=verified))
    keychain, limits = _whole(_KEYCHAIN.read(body)), _LIMITS if edition > 2 else _FIRST_LIMITS
    (bounds,) = _exactly(list(_whole(limits.restore(body.value()))), 1)
    entry, workload = NUMBER.checked(_exactly(body.value(), 2))
    best_effort, aliases = FLAG.checked(_exactly(body.value(), 2))
    order, executor, kinds, named = (body.value() for _ in range(4))
    if not isinstance(executor, dict):
        raise Malformed("the executor is no mapping")
    extended = extensions.read(body.value()) if edition > 3 else {}
    return Plan(
        name=name,
        path=path,
        version=version,
        source=source,
        net=net,
        templates=templates,
        template_spans=template_spans,
        steps=steps,
        tasks=tasks,
        arcs=arcs,
        entry=entry,
        workload=workload,
        workload_order=tuple(TEXT.checked(order)),
        keychain=keychain,
        executor=executor,
        limits=Limits(*cast("tuple[int, ...]", bounds)),
        best_effort=best_effort,
        kinds=tuple(TEXT.checked(kinds)),
        children=_children(named, children),
        aliases=aliases,
        edition=edition,
        inputs=cast("tuple[Input, ...] | None", extended.get("inputs")),
        timeout=cast("int", extended.get("timeout", -1)),
        iteration_limits=cast("tuple[IterationLimit, ...]", extended.get("iteration_limits", ())),
        terminates=cast("tuple[Terminate, ...]", extended.get("terminates", ())),
        result=cast("int", extended.get("result", -1)),
        phases=cast("tuple[Phase, ...]", extended.get("phases", ())),
        after=cast("int", extended.get("after", -1)),
        compensations=cast("tuple[Compensation, ...]", extended.get("compensations", ())),
        compensate_on=cast("tuple[str, ...]", extended.get("compensate_on", CAUSES)),
        reducers=cast("tuple[Reducer, ...]", extended.get("reducers", ())),
        loop_ends=cast("tuple[LoopEnd, ...]", extended.get("loop_ends", ())),
        cancels=cast("tuple[Cancel, ...]", extended.get("cancels", ())),
        concurrency=cast("Concurrency | None", extended.get("concurrency")),
        loop_signals=cast("tuple[LoopSignal, ...]", extended.get("loop_signals", ())),
        locks=cast("tuple[Locks, ...]", extended.get("locks", ())),
        interrupts=cast("tuple[Interrupt, ...]", extended.get("interrupts", ())),
        sections=cast("tuple[Section, ...]", extended.get("sections", ())),
        labels=cast("tuple[tuple[str, str], ...]", extended.get("labels", ())),
        search=cast("tuple[SearchAttribute, ...]", extended.get("search", ())),
    )


def _net(body: codec.PartReader, rows: _Kept, *, verified: bool) -> Net:
    enter(body, 3)
    places, transitions = (rows(_table(kind, body, verified=verified)) for kind in (_PLACES, _TRANSITIONS))
    return Net(places, transitions, cast("tuple[tuple[int, int], ...]", _whole(_INITIAL.read(body))))


def _templates(body: codec.PartReader, *, verified: bool) -> Sequence[Template]:
    # Templates are made when a run asks for them: most runs never come to most of them.
    if verified:
        return PackedTable(LateTemplates(body.skipped(), body.skipped()))
    reader = ExpressionReader(body.value())
    return tuple([template_of(row, reader) for row in list_of_column(body.value())])


def _table(records: Records[T], body: codec.PartReader, *, verified: bool) -> PackedRows[T]:
    return records.open(body) if verified else records.read(body)


def _whole(rows: Packed[T]) -> tuple[T, ...]:
    return tuple(rows.values(0, len(rows)))


def _children(named: object, data: memoryview) -> tuple[Child, ...]:
    """The embedded plans; each is read when it is started, and checked against its digest then and here."""
    found, start = [], 0
    rows = list_of_column(named)
    # Asked before any child is copied out of the bytes.
    if len(rows) > MAX_CHILDREN:
        raise Malformed("the plan embeds too many others")
    for row in rows:
        match row:
            case [str(path), str(digest), int(length)] if 0 <= length <= len(data) - start:
                child = bytes(data[start : start + length])
                start += length
            case _:
                raise Malformed("an embedded plan is damaged")
        try:
            known = digest_of(child)
        except PlanError as problem:
            raise Malformed(f"an embedded plan is damaged: {problem}") from problem
        if known != digest:
            raise Malformed("an embedded plan is not the one that was named")
        found.append(Child(path, digest, child))
    # Bytes that belong to nothing would be a second plan under the first one's name.
    if start != len(data):
        raise Malformed("there is more than the plan")
    return tuple(found)


def _exactly(value: object, count: int) -> list[object]:
    parts = list_of_column(value)
    if len(parts) != count:
        raise Malformed(f"expected {count} parts, found {len(parts)}")
    return parts
