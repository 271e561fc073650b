"""Which names an expression may use where: the one table of LANGUAGE §2.

The compiler's checks, the run-time scope and the documentation all read `PLACES`. Bare names resolve in this
order: the reserved names; lexical names (the iterators, `loop_index`, the tasks of this pipeline); the keys of
`args`, `ctx`, `iter`, `workload`; the names of steps; the functions.
"""

from enum import Enum

from noetl_ir.records import NamedTuple

LAYERS = ("args", "ctx", "iter", "workload")
"""The scopes whose keys are bare names too, the strongest first."""

RESERVED = frozenset(
    {"workload", "ctx", "args", "iter", "event", "outcome", "keychain", "execution_id", "steps", "loop_index"}
    | {"action_id", "_prev", "_task", "_attempt", "_iteration", "_elapsed"}
)
"""Names that no step, task, iterator or key may take over; so is everything that begins with `__`."""

EVENT_NAMES = frozenset({"name", "status", "step", "step_run_id", "ts", "result", "error", "outcome"})
LOOP_EVENT_NAMES = frozenset({"total", "ok", "failed", "skipped", "errors"})
LOOP_COUNTS = frozenset({"total", "ok", "failed", "done"})
"""What `event` has while a loop is asked whether it has enough."""

SIGNAL_NAMES = frozenset({"data"})
EVENT_ATTRIBUTES = EVENT_NAMES | LOOP_EVENT_NAMES | SIGNAL_NAMES
"""What `event` has: always, for a loop's end, for an event from outside."""


class Evaluator(Enum):
    """Who evaluates a template."""

    SERVER = "server"
    WORKER = "worker"


class Site(Enum):
    """A place in a playbook where templates stand. The value is how it is written in a playbook."""

    WORKLOAD = "`workload` values"
    KEYCHAIN = "`keychain` entries"
    ADMIT = "`admit.rules[].when`"
    LOOP = "`loop.in`, `max_in_flight`, `arc.spec.delay`"
    ENOUGH = "`loop.spec.policy.enough`"
    TASK = "task fields"
    RULE = "`policy.rules[].when`, `delay`, `set_iter`, `set_ctx`"
    ARC = "`next.arcs[].when`, `args`"
    RESULT = "`executor.spec.result`"
    SEARCH = "`executor.spec.search`"


class PlaceRules(NamedTuple):
    """The rules of one place.

    `names` are the reserved ones that are known; `results` and `tasks` whether the names of steps and of this
    pipeline's tasks are; `iter_of` what `iter` is; `moment` when the evaluation happens.
    """

    place: Site
    evaluator: Evaluator
    moment: str
    names: frozenset[str]
    functions: frozenset[str]
    results: bool
    tasks: bool
    iter_of: str


_PURE = frozenset({"range", "dict"})
_ALL = _PURE | {"now", "ref"}
# The server never has secrets, nor anything of an attempt: what it evaluates must be the same at a replay.
_SERVER = frozenset({"ctx", "workload", "args", "event", "execution_id", "steps"})
_RUN = frozenset({"args", "workload", "ctx", "iter", "loop_index", "execution_id", "steps"})
_TASK = _RUN | {"action_id", "_prev", "_task", "_attempt", "_iteration"}
_HERE = "this iteration or run"
_S, _W = Evaluator.SERVER, Evaluator.WORKER

PLACES: dict[Site, PlaceRules] = {
    row.place: row
    for row in (
        PlaceRules(
            Site.WORKLOAD,
            _S,
            "at start",
            frozenset({"workload", "execution_id", "env"}),
            _PURE | {"now"},
            False,
            False,
            "",
        ),
        PlaceRules(
            Site.KEYCHAIN,
            _W,
            "when a secret is used",
            frozenset({"workload", "execution_id", "keychain"}),
            _PURE,
            False,
            False,
            "",
        ),
        PlaceRules(Site.ADMIT, _S, "when a token asks", _SERVER, _ALL, True, False, ""),
        PlaceRules(
            Site.LOOP,
            _S,
            "when a token asks",
            _SERVER | {"iter", "loop_index"},
            _ALL,
            True,
            False,
            "the outer loop",
        ),
        # Counts and what stays as it is for the whole run: asked again, it says the same.
        PlaceRules(
            Site.ENOUGH,
            _S,
            "at the start of a loop and after each iteration",
            frozenset({"event", "args", "workload", "iter", "loop_index", "execution_id"}),
            _PURE,
            False,
            False,
            "the outer loop",
        ),
        PlaceRules(Site.TASK, _W, "before an attempt", _TASK | {"keychain"}, _ALL, True, True, _HERE),
        PlaceRules(Site.RULE, _W, "after the task", _TASK | {"outcome", "_elapsed"}, _ALL, True, True, _HERE),
        PlaceRules(Site.ARC, _S, "on the terminal event", _SERVER | {"iter"}, _ALL, True, False, "the end of the run"),
        PlaceRules(Site.RESULT, _S, "when all is done", _SERVER - {"args", "event"}, _ALL, True, False, ""),
        # Asked again whenever `ctx` may be another one: of a value that is read again nothing else may come.
        PlaceRules(
            Site.SEARCH,
            _S,
            "at start and when `ctx` changes",
            frozenset({"workload", "ctx", "execution_id"}),
            _PURE,
            False,
            False,
            "",
        ),
    )
}


def table_markdown() -> str:
    """The table for the documentation."""
    lines = ["| where | evaluated by | names |", "|---|---|---|"]
    for row in PLACES.values():
        names = " ".join(f"`{name}`" for name in sorted(row.names))
        more = [f"`iter` of {row.iter_of}"] if row.iter_of else []
        more += ["step results"] if row.results else []
        more += ["the iterator, results of this pipeline's tasks"] if row.tasks else []
        functions = " ".join(f"`{name}()`" for name in sorted(row.functions))
        lines.append(
            f"| {row.place.value} | {row.evaluator.value}, {row.moment} | {'; '.join([names, *more, functions])} |"
        )
    lines.append("")
    lines.append(f"`event` has {' '.join(f'`{name}`' for name in sorted(EVENT_NAMES))};")
    lines.append(f"at a loop's end also {' '.join(f'`{name}`' for name in sorted(LOOP_EVENT_NAMES))};")
    lines.append(f"in `enough` only {' '.join(f'`{name}`' for name in sorted(LOOP_COUNTS))};")
    lines.append(f"from outside also {' '.join(f'`{name}`' for name in sorted(SIGNAL_NAMES))}.")
    return "\n".join(lines) + "\n"
