"""Every word that the language has beyond the canonical texts is in the two comparisons that would find it wrong: the
verdicts about random playbooks against all their runs, and the simulated clusters against the laws.

A word of the schema is one of `ADDED` or of `CANONICAL`, or a field of a tool: a new key without a row fails here.
"""

from collections.abc import Iterable

from compiler.analysis.test_mixed import SEEDS, spaces_of
from language_words import NAMES, words_of, words_of_schema
from mixed_playbooks import playbook_of
from nets import plan_of
from noetl_ir.kinds import TASK_KNOBS
from simulator import test_simulator
from simulator.plays import PLAYS, number_of

ADDED = {
    "executor_spec": (
        "inputs inputs.required inputs.description inputs.type result on_failure finally "
        "compensate_on compensate_on:text compensate_on:list compensate_on=failed compensate_on=blocked "
        "compensate_on=cancelled timeout tasks tasks.spec ctx ctx.reduce ctx.initial ctx.reduce=sum ctx.reduce=min "
        "ctx.reduce=max ctx.reduce=append ctx.reduce=union ctx.reduce=merge ctx.reduce=count concurrency "
        "concurrency.key concurrency.limit concurrency.on_conflict concurrency.on_conflict=queue "
        "concurrency.on_conflict=skip concurrency.on_conflict=cancel_running concurrency.on_conflict=fail "
        "search search.value search.type search.type=string search.type=number search.type=bool search.type=time"
    ),
    "executor_policy": "lifecycle.timeout_s lifecycle.after_s",
    "step_policy": (
        "join=settled join.tokens terminate terminate=completed terminate=failed compensate compensate:text "
        "compensate:mapping compensate.step compensate.on compensate.on=done compensate.on=started cancels "
        "cancels:text cancels:list interrupt interrupt.events interrupt.timers lock lock:text lock:list lock:mapping "
        "lock.name lock.through lifecycle.timeout_s"
    ),
    "loop_spec": "timeout more more.events close close.events close.timers complete complete.events complete.timers",
    "loop_policy": (
        "lifecycle lifecycle.timeout_s enough enough:number enough:text rest rest=cancel rest=finish rest=swallow"
    ),
    "task": "kind=signal kind=fail",
    "wait": "transient correlation timers:at timers:duration",
    "signal": "to key keep_for signal data",
    "fail": "code message",
}
"""Place → its words, of EXTENSIONS."""

CANONICAL = {
    "document": (
        "apiVersion apiVersion=noetl.io/v2 apiVersion=noetl.io/v1 apiVersion=noetl.io/v10 kind metadata metadata.name "
        "metadata.path metadata.version metadata.description metadata.labels "
        "keychain executor workload workflow workbook name path"
    ),
    "executor": (
        "kind kind=local kind=distributed kind=auto profile profile=local profile=distributed profile=auto version "
        "requires requires.tools requires.features spec final_step no_next_is_error"
    ),
    "executor_spec": "entry_step pool policy final_step no_next_is_error",
    "executor_policy": (
        "results results.reference_first limits limits.max_payload_bytes limits.max_tasks_per_run limits.max_lost "
        "limits.max_children_depth limits.max_step_runs limits.max_tokens failure failure.mode failure.mode=fail_fast "
        "failure.mode=best_effort lifecycle defaults placement cost"
    ),
    "step": "step desc spec loop tool assert next",
    "step_spec": "pool timeout policy",
    "step_policy": (
        "admit join join=any join=all join=taken join=first lifecycle lifecycle.deadline_s failure failure.mode "
        "failure.mode=fail_fast failure.mode=best_effort emit tracing quotas compensation"
    ),
    "admit": "mode mode=exclusive mode=inclusive rules on_deny on_deny=wait on_deny=reject",
    "loop": "in iterator spec loop",
    "loop_spec": (
        "mode mode=sequential mode=parallel max_in_flight policy reducers backpressure partitioning ordering"
    ),
    "loop_policy": (
        "exec exec=distributed exec=local mode mode=sequential mode=parallel max_in_flight reducers backpressure "
        "partitioning ordering results"
    ),
    "next": "spec arcs",
    "next_spec": "mode mode=exclusive mode=inclusive policy on_no_match dedupe partitioning",
    "arc": "step when args spec",
    "arc_spec": "delay priority dedupe partitioning policy",
    "task": "name kind desc args assert spec",
    "task_entries": "choose while until",
    "block_choose": "name desc choose choose.when choose.then choose.else choose.else.then",
    "block_while": "name desc while while.when while.then while.max_iterations while.deadline",
    "block_until": "name desc until until.when until.then until.max_iterations until.deadline until.delay",
    "task_spec": "timeout policy",
    "task_policy": (
        "rules on_unmatched on_unmatched=continue mode mode=exclusive before after finally"
    ),
    "rule": "when then else else.then",
    "then": (
        "do do=continue do=retry do=jump do=break do=fail attempts backoff backoff=none backoff=linear "
        "backoff=exponential delay multiplier max_delay jitter to code message set_iter set_ctx allow"
    ),
    "wait": "events timers",
}  # fmt: skip
"""Place → its words, of the canonical texts."""

KINDS = (
    "agent", "artifact", "container", "duckdb", "ducklake", "gcs", "http", "nats", "noop", "playbook", "postgres",
    "python", "quantum", "result_fetch", "rhai", "script", "secrets", "shell", "snowflake", "snowflake_transfer",
    "sqlite", "subscription", "transfer", "wait", "workbook",
)  # fmt: skip
"""The tools, of which the canonical texts have most; what they do is tested for each."""


def rows(table: dict[str, str]) -> set[str]:
    return {
        f"{place}{'' if word.startswith(':') else '.'}{word}"
        for place, words in table.items()
        for word in words.split()
    }


def added() -> set[str]:
    return rows(ADDED) | {f"{{{{{name}}}}}" for name in NAMES}


def is_of_a_tool(word: str) -> bool:
    """Whether a word is a field of a tool, a setting of tools, a credential's kind, or JSON Schema's own."""
    place, _, key = word.partition(".")
    key = key.partition("=")[0].partition(":")[0]
    common = key in ("name", "kind", "desc", "args", "assert", "spec")
    knob = key in TASK_KNOBS or any(key in knobs_of(kind) for kind in KINDS)
    schema = word.startswith(
        ("executor_spec.inputs.enum", "executor_spec.inputs.default", "executor_spec.inputs.type=")
    )
    credential = word.startswith("document.keychain.")
    its = place in KINDS and (place != "wait" or common)
    new = place in ("signal", "fail") and common
    return its or new or schema or credential or (knob and place.endswith("_spec"))


def knobs_of(kind: str) -> Iterable[str]:
    from noetlc.reading.kinds import kind_of

    known = kind_of(kind)
    return () if known is None else known.knobs


def test_every_word_of_the_language_has_a_row_and_no_row_is_of_none() -> None:
    words = words_of_schema()
    canonical = rows(CANONICAL) | {f"task.kind={kind}" for kind in KINDS}
    assert {word for word in words if not is_of_a_tool(word)} - canonical - rows(ADDED) == set()
    assert (canonical | rows(ADDED)) - words == set()
    assert canonical & rows(ADDED) == set()


def test_every_word_is_in_random_playbooks_whose_runs_are_all_seen() -> None:
    missing = added()
    for body in map(playbook_of, range(SEEDS)):
        if missing & words_of(body) and spaces_of(plan_of(body)) is not None:
            missing -= words_of(body)
    assert missing == set()


def test_every_word_is_in_plays_that_are_simulated_and_killed_at_every_point() -> None:
    """Plays of the usual share of the seeds."""
    plays = {number_of(seed) for block in range(test_simulator.SHORT) for seed in test_simulator.seeds_of(block)}
    assert len(plays) == len(PLAYS)
    texts = [text for number in plays for text in (PLAYS[number].text, *(body for _, body in PLAYS[number].children))]
    assert added() - {word for text in texts for word in words_of(text)} == set()
