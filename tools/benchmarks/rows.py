"""The table of rows, in the order of the bars."""

from benchmarks import analysis, cases, cluster, front_end, linting, runtime, suite, tasks
from benchmarks.row import Bench, NotMeasured, Reading, Row, missing

ROWS: tuple[Row, ...] = (
    Row("plan", "front end", "≤ 4 × events; ≤ 11 × of 1,000", front_end.plan_bytes),
    Row("legacy", "front end", "≤ 1.5 × canonical", front_end.legacy_plan),
    Row("expressions", "front end", "≤ 30 µs", front_end.expressions),
    Row("editing", "front end", "findings ≤ 0.3 s, completion ≤ 0.1 s", front_end.editing),
    Row("lint-sizes", "front end", "faster than each", linting.sizes),
    Row("lint-small", "front end", "≤ 6 ×", linting.small_file),
    Row("lint-many", "front end", "≤ 3 ×", linting.many_files),
    Row("migrate-many", "front end", "≤ 4 ×", linting.migrated_files),
    Row("determinism", "front end", "0 differ", front_end.determinism),
    Row("graphs", "analysis", "≥ 50 × pm4py, ≥ 100 × SNAKES", analysis.graphs),
    Row("fork-256", "analysis", "≤ 1 s", analysis.wide_fork),
    Row("fork-1024", "analysis", "≤ 2 s", analysis.wider_fork),
    Row("random", "analysis", "analyze ≤ 2 s, lint ≤ 1 s; ≤ 5 % unknown", analysis.random_playbooks),
    Row("complete", "analysis", "analyze ≤ 2 s, lint ≤ 1 s", analysis.complete_graphs),
    Row("soundness", "analysis", "≤ 20 ms; worst ≤ 500 ms", analysis.soundness),
    Row("mcc", "analysis", "0 differ", analysis.published),
    Row("one-step", "runtime", "≤ 6 ×", runtime.one_step),
    Row("opening", "runtime", "≤ 0.4 s", runtime.opening),
    Row("status", "runtime", "≤ 0.5 s", runtime.status),
    Row("tests", "runtime", "≤ 3 s", cases.fifty),
    Row("steps", "runtime", "≥ 10 × DBOS, ≥ 8 × every event; no slower later", runtime.durable_steps),
    Row("iterations", "runtime", "≥ 20 × DBOS", runtime.iterations),
    Row("loop-memory", "runtime", "≤ 200 MB, flat", runtime.loop_memory),
    Row("jump-loop", "runtime", "completes, flat", runtime.jump_loop),
    Row("chain", "runtime", "completes", runtime.long_chain),
    Row("python-loop", "runtime", "≤ 1 × one by one; ≤ 2.5 and 1.5 s", tasks.python_loops),
    Row("http-call", "runtime", "≤ 2 × httpx", tasks.http_calls),
    Row("cluster", "runtime", "≥ 1,800 steps/s; ≤ 1 ms, ≤ 0.1 transactions; ≤ 5 and 50 ms", cluster.steps),
    Row("cluster-growth", "runtime", "none", cluster.growth),
    Row("groups", "runtime", "0 lost", cluster.groups),
    Row("waiting", "runtime", "none", cluster.waiting),
    Row("scripts", "project", "demo ≤ 30 s, check ≤ 6 min", suite.own_scripts),
)


def measure(bench: Bench, row: Row) -> list[Reading]:
    """The lines of a row; one that says why when it could not be measured."""
    try:
        return row.measure(bench)
    except NotMeasured as problem:
        return [missing(row.name, row.bar, str(problem))]
