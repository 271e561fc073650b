"""The canonical form (v10): every key of every construct, and the function that takes it."""

from noetlc.dialects import Dialect
from noetlc.reading import admit, blocks, document, executor, loop, policy, routing, step, task
from noetlc.reading.reader import Tables

DIALECT = Dialect(
    "canonical, v10",
    Tables(
        document=document.KEYS,
        executor=executor.KEYS,
        executor_spec=executor.SPEC_KEYS,
        executor_policy=executor.POLICY_KEYS,
        step=step.KEYS,
        step_spec=step.SPEC_KEYS,
        step_policy=step.POLICY_KEYS,
        admit=admit.KEYS,
        loop=loop.KEYS,
        loop_spec=loop.SPEC_KEYS,
        loop_policy=loop.POLICY_KEYS,
        task=task.KEYS,
        task_spec=task.SPEC_KEYS,
        task_policy=policy.KEYS,
        then=policy.THEN_KEYS,
        next=routing.KEYS,
        next_spec=routing.SPEC_KEYS,
        arc=routing.ARC_KEYS,
        arc_spec=routing.ARC_SPEC_KEYS,
        task_forms={"named": task.named_form},
        task_entries=blocks.ENTRIES,
    ),
)
