"""The playbooks that a playbook calls, directly or not, and in which order their plans can be made.

A call inside a circle of calls stays a path wherever it is made from, so that the plan of a child is the same
for every caller.
"""

from collections.abc import Callable, Iterator, Mapping
from posixpath import dirname, join, normpath
from typing import TYPE_CHECKING, Protocol

from noetl_ir.expr import Literal
from noetl_ir.records import NamedTuple
from noetl_ir.span import Span
from noetlc.ast.components import components_of
from noetlc.ast.playbook import Playbook
from noetlc.ast.walk import tasks_in
from noetlc.diag.codes import finding
from noetlc.diag.diagnostic import Diagnostic

if TYPE_CHECKING:  # lint makes no plans
    from noetl_ir.plan import Child

KIND, FIELD = "playbook", "path"
NOT_FOUND, BROKEN, CIRCLE, COMPUTED, TOO_LARGE = "NL690", "NL691", "NL692", "NL693", "NL694"

# Children are embedded whole, so plans that embed plans grow with every level; beyond this a child stays in the
# catalogue.
MAX_EMBEDDED = 1 << 26
"""The largest plan, in bytes, that is embedded in another."""


class PlaybookCatalogue(Protocol):
    """Where child playbooks are looked up."""

    def find(self, path: str) -> tuple[str, bytes] | None:
        """The file that holds the playbook of that path: its name and content."""
        ...


class NoCatalogue:
    """The catalogue in which nothing is."""

    def find(self, path: str) -> tuple[str, bytes] | None:
        """None."""


NO_CATALOGUE = NoCatalogue()


class ChildCall(NamedTuple):
    """One call: the path as written, None where it is a template, and its place in the file."""

    path: str | None
    span: Span


class Member(NamedTuple):
    """A playbook of the family: the name of its file, the tree, and what is in the file."""

    file: str
    playbook: Playbook
    data: bytes = b""


class Family(NamedTuple):
    """Who calls whom. `members` and `circle_of` are by key; `keys` says by caller and path which member is meant,
    `missing` the code of the finding that says why none is. `order` has every member after those it calls; `asked` are
    the names that were looked up.
    """

    members: dict[str, Member]
    keys: dict[tuple[str, str], str]
    missing: dict[tuple[str, str], str]
    circle_of: dict[str, int]
    order: tuple[str, ...]
    asked: tuple[str, ...]

    def obstacle(self, caller: str, path: str) -> str:
        """The code of the finding that says why `caller` cannot embed what it calls `path`; "" if it can."""
        call = caller, path
        if call in self.missing:
            return self.missing[call]
        return CIRCLE if self.circle_of[self.keys[call]] == self.circle_of[caller] else ""


def calls_of(playbook: Playbook) -> Iterator[ChildCall]:
    """Every call in file order, those of workbook entries last; a path may come several times."""
    for task in tasks_in(playbook):
        if task.kind == KIND:
            for name, value in task.fields:
                if name == FIELD:
                    constant = value.template if isinstance(value.template, Literal) else None
                    yield ChildCall(None if constant is None else str(constant.value), value.span)


def paths_of(playbook: Playbook) -> tuple[str, ...]:
    """The paths that a playbook calls, each once."""
    return tuple(dict.fromkeys(call.path for call in calls_of(playbook) if call.path is not None))


def family_of(root: Member, look: Callable[[str], Member | str]) -> tuple[Family, str]:
    """The family of a playbook and its own key; `look` finds the playbook of a name or says what is in the way."""
    key = _key(root)
    members, keys, missing = {key: root}, dict[tuple[str, str], str](), dict[tuple[str, str], str]()
    asked: dict[str, None] = {}
    # A stack: calls may nest as deep as there are files.
    waiting = [(key, path) for path in paths_of(root.playbook)]
    while waiting:
        caller, path = waiting.pop()
        found: Member | str = NOT_FOUND
        for name in names_of(path, members[caller].file):
            asked[name] = None
            found = look(name)
            # A broken playbook ends the search, too: another one of a similar name is not what was called.
            if found != NOT_FOUND:
                break
        if isinstance(found, str):
            missing[caller, path] = found
            continue
        keys[caller, path] = inner = _key(found)
        if inner not in members:
            members[inner] = found
            waiting += [(inner, other) for other in paths_of(found.playbook)]
    after = {
        name: [keys[name, path] for path in paths_of(member.playbook) if (name, path) in keys]
        for name, member in members.items()
    }
    names, numbers = list(after), {name: number for number, name in enumerate(after)}
    targets = [[numbers[name] for name in row] for row in after.values()]
    # Components come after all that they lead to, which is the order in which plans can be made.
    circles = [tuple(names[number] for number in reversed(circle)) for circle in components_of(targets)]
    circle_of = {name: number for number, circle in enumerate(circles) for name in circle}
    order = tuple([name for circle in circles for name in circle])
    return Family(members, keys, missing, circle_of, order, tuple(asked)), key


def names_of(path: str, caller: str) -> tuple[str, ...]:
    """Under which names the playbook that a file calls `path` is looked up, one after the other.

    A path is one of the catalogue, else that of a file from where the caller lies: with a dot in front the other way
    round.
    """
    beside = normpath(join(dirname(caller), path))
    # Both ways are tried, since authors write both; the order keeps a file beside the caller from hiding a
    # catalogue's entry.
    return tuple(dict.fromkeys((beside, path) if path.startswith(("./", "../")) else (path, beside)))


def embedded_in(
    family: Family, caller: str, made: "Mapping[str, Child]"
) -> "tuple[tuple[Child, ...], list[Diagnostic]]":
    """The children that a playbook embeds, each once, and why it does not embed the others it names.

    `made` are the plans by the keys of their playbooks.
    """
    found: dict[str, Child] = {}
    findings: list[Diagnostic] = []
    for path, span in calls_of(family.members[caller].playbook):
        if path is None:  # reported by the check
            continue
        code = family.obstacle(caller, path)
        child = made.get(family.keys[caller, path]) if not code else None
        if child is not None and len(child.data) > MAX_EMBEDDED:
            code = TOO_LARGE
        if code or child is None:
            findings.append(obstacle_finding(code or BROKEN, span, path))
        else:
            found[path] = child._replace(path=path)
    return tuple(found.values()), findings


def obstacles_of(family: Family, caller: str) -> Iterator[Diagnostic]:
    """The obstacles to the calls of a playbook, as far as it is known without plans."""
    for path, span in calls_of(family.members[caller].playbook):
        code = family.obstacle(caller, path) if path is not None else ""
        if path is not None and code:
            yield obstacle_finding(code, span, path)


def obstacle_finding(code: str, span: Span, path: str) -> Diagnostic:
    """The finding about a call that stays a path."""
    message = {
        NOT_FOUND: f"there is no playbook `{path}` in the catalogue",
        BROKEN: f"the playbook `{path}` does not compile",
        CIRCLE: f"the call of `{path}` comes back to a playbook that is being called",
        COMPUTED: "`path` is a template: which playbook it calls is not known before the run, and none is checked",
        TOO_LARGE: f"the plan of `{path}` is too large to be part of this one",
    }[code]
    return finding(code, message, span, help=_HELP.get(code, ""))


_HELP = {
    COMPUTED: "write the path out, or check the playbooks that it can name by themselves",
    NOT_FOUND: "give the folder that holds it with `--path`; else it is looked up when the task runs",
    BROKEN: "run `noetlc lint` on it",
}


def _key(member: Member) -> str:
    """The identity of a playbook: its `metadata.path`, else its file."""
    return member.playbook.path or f"file {member.file}"
