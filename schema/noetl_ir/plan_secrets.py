"""The secrets that a plan names: entries of its keychain, and stored credentials that tasks ask for by name."""

from collections.abc import Iterable, Iterator

from noetl_ir.expr import (
    Attribute,
    Const,
    Expr,
    Item,
    ListTemplate,
    Literal,
    MapTemplate,
    Name,
    Template,
    entries_of,
    expressions_of,
    texts_in,
)
from noetl_ir.paths import paths_in
from noetl_ir.plan import KeychainEntry, Plan, Task
from noetl_ir.records import NamedTuple
from noetl_ir.secret_fields import NAMING

_TOKENS = frozenset({"bearer", "oauth2", "google_id_token"})
"""Kinds of entries that give a `token`; a single value of any other is its `value`."""


class NamedSecrets(NamedTuple):
    """The fields that expressions read of each secret, by its name; none of one that only `auth` and its like name.

    `single` is the field of each, as far as it has one value. `computed` says that some name is computed.
    """

    fields: dict[str, tuple[str, ...]]
    single: dict[str, str]
    computed: bool


def secrets_named(plans: Iterable[Plan]) -> NamedSecrets:
    """The secrets that plans name, together."""
    read: dict[str, dict[str, None]] = {}
    kinds: dict[str, str] = {}
    computed = False
    for plan in plans:
        # Of several playbooks the last one that declares a name says its kind: names are shared in a family, as by the
        # stores.
        kinds.update((entry.name, entry.kind) for entry in plan.keychain)
        found = [*(read_ for template in plan.templates for read_ in _reads(template))]
        found += [named for task in plan.tasks if task.fields >= 0 for named in _named(plan.templates[task.fields])]
        computed = computed or None in found
        for place in filter(None, found):
            read.setdefault(place[0], {}).update(dict.fromkeys(filter(None, place[1:])))
    fields = {name: tuple(read.get(name, ())) for name in (*kinds, *read)}
    single = {name: _single(kinds.get(name, ""), known) for name, known in fields.items()}
    return NamedSecrets(fields, single, computed)


def entries_for(plan: Plan, task: Task, templates: Iterable[Template]) -> tuple[KeychainEntry, ...]:
    """The declared entries that a task may use, by its templates, and those that these are made of; all of them where
    it computes a name.
    """
    if not plan.keychain:
        return ()
    found = [read for template in templates for read in _reads(template)]
    found += _named(plan.templates[task.fields]) if task.fields >= 0 else ()
    names = {read[0] for read in found if read is not None}
    for _ in plan.keychain:  # each pass finds those that the ones before are made of, and there are no more of them
        for entry in plan.keychain:
            if entry.name in names and entry.fields >= 0:
                of = [*_reads(plan.templates[entry.fields]), *_named(plan.templates[entry.fields])]
                found += of
                names |= {read[0] for read in of if read is not None}
    return tuple(entry for entry in plan.keychain if None in found or entry.name in names)


def _single(kind: str, fields: tuple[str, ...]) -> str:
    # One text in a file of tests stands for the field that is read, where expressions read just one.
    return fields[0] if len(fields) == 1 else "token" if kind in _TOKENS else "value"


def _reads(template: Template) -> Iterator[tuple[str, str] | None]:
    """The secrets that expressions read, each as a name and a field (`""` for the whole); None for a computed name."""
    for expr in expressions_of(template):
        for path in paths_in(expr, _path):
            name = path[0] if path else None
            yield (name, path[1] or "" if len(path) > 1 else "") if name is not None else None


def _path(expr: Expr) -> tuple[str | None, ...] | None:
    """The keys behind `keychain`, None for one that is computed; None for what is no such path."""
    keys: list[str | None] = []
    while isinstance(expr, Attribute | Item):
        if isinstance(expr, Attribute):
            keys.append(expr.name)
        else:
            keys.append(expr.key.value if isinstance(expr.key, Const) and isinstance(expr.key.value, str) else None)
        expr = expr.of
    return tuple(reversed(keys)) if isinstance(expr, Name) and expr.name == "keychain" else None


def _named(template: Template) -> Iterator[tuple[str, str] | None]:
    """The secrets that `auth` and its like name in a task's fields, at any depth; None for a computed name."""
    if isinstance(template, ListTemplate):
        for each in template.items:
            yield from _named(each)
    for key, value in (entries_of(template) or {}).items():
        if key not in NAMING:
            yield from _named(value)
        else:
            yield from _texts(value)


def _texts(template: Template) -> Iterator[tuple[str, str] | None]:
    """The texts of a template as names; None for each expression."""
    match template:
        case Literal(value=value):
            yield from ((text, "") for text in texts_in(value))
        case MapTemplate(items=pairs):
            for _, inner in pairs:
                yield from _texts(inner)
        case ListTemplate(items=items):
            for inner in items:
                yield from _texts(inner)
        case _:
            yield None
