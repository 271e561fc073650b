"""The templates of the whole playbook, by the key at which they stand: a fault in one has no step to name."""

from noetl_ir.plan import Plan

RESULT = "executor.spec.result"
PLACE = "executor.spec.concurrency.key"


def limit_key(name: str) -> str:
    """The key of a limit of time, `timeout_s` or `after_s`."""
    return f"executor.spec.policy.lifecycle.{name}"


def initial_key(reduced: str) -> str:
    """The key of what a reduced key of `ctx` begins with."""
    return f"executor.spec.ctx.{reduced}.initial"


def told(key: str) -> str:
    """The key as messages about it begin."""
    return f"`{key}`"


def template_of(plan: Plan, message: str) -> int:
    """The pool index of the template that the message of a fault is about, -1 where it is about none of these."""
    found = {
        RESULT: plan.result,
        limit_key("timeout_s"): plan.timeout,
        limit_key("after_s"): plan.after,
        **{initial_key(row.key): row.initial for row in plan.reducers},
    }
    if plan.concurrency is not None:
        found[PLACE] = plan.concurrency.key
    # Logs hold messages and no places: so those of before are told with theirs, too.
    return next((index for key, index in found.items() if message.startswith(told(key))), -1)
