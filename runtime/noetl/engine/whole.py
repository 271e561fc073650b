"""The keys of the whole playbook, at which no step stands: a fault of what is there names its key, and so its place."""

from noetl_ir.evaluate import Fault
from noetl_ir.expr import Json, Literal, entries_of
from noetl_ir.plan import Plan
from noetl_ir.span import Span

RESULT = "executor.spec.result"
PLACE = "executor.spec.concurrency.key"


class KeyedFault(Fault):
    """A fault of what stands at a key of the whole playbook, such as `workload.day`."""

    def __init__(self, code: str, message: str, path: str = "", *, key: str) -> None:
        super().__init__(code, message, path)
        self.key = key


def limit_key(name: str) -> str:
    """The key of a limit of time, `timeout_s` or `after_s`."""
    return f"executor.spec.policy.lifecycle.{name}"


def initial_key(reduced: str) -> str:
    """The key of what a reduced key of `ctx` begins with."""
    return f"executor.spec.ctx.{reduced}.initial"


def input_key(name: str) -> str:
    """The key of a declared input."""
    return f"executor.spec.inputs.{name}"


def workload_key(name: str) -> str:
    """The key of a value of the workload."""
    return f"workload.{name}"


def about(key: str, fault: Fault) -> KeyedFault:
    """The fault with its key, at which its message begins."""
    return KeyedFault(fault.code, f"`{key}`: {fault.message}", fault.path, key=key)


def error_of(fault: Fault) -> dict[str, Json]:
    """The error of an execution that ends for a fault."""
    error: dict[str, Json] = {"code": fault.code, "message": fault.message}
    return {**error, "key": fault.key} if isinstance(fault, KeyedFault) else error


def message_at(plan: Plan, fault: Fault) -> str:
    """The message of a fault behind its file, line and column, as far as they are known."""
    span = span_at(plan, fault.key) if isinstance(fault, KeyedFault) else None
    if span is None or span.line <= 0:
        return fault.message
    return f"{plan.source}:{span.line}:{span.column}: {fault.message}"


def span_at(plan: Plan, key: str) -> Span | None:
    """The place of a key of the whole playbook; None where the plan does not know it."""
    if (name := key.removeprefix(input_key(""))) != key:
        return next((one.span for one in plan.inputs or () if one.name == name), None)
    if (name := key.removeprefix(workload_key(""))) != key:
        return _span_in_workload(plan, name)
    known = {
        RESULT: plan.result,
        limit_key("timeout_s"): plan.timeout,
        limit_key("after_s"): plan.after,
        **{initial_key(row.key): row.initial for row in plan.reducers},
    }
    if plan.concurrency is not None:
        known[PLACE] = plan.concurrency.key
    template = known.get(key, -1)
    return plan.template_spans[template] if template >= 0 else None


def _span_in_workload(plan: Plan, name: str) -> Span | None:
    """The place of a computed value of the workload: the last templates of a plan are these, one by one."""
    parts = entries_of(plan.templates[plan.workload]) if plan.workload >= 0 else None
    computed = [key for key, part in (parts or {}).items() if not isinstance(part, Literal)]
    if parts is None or name not in computed:
        return None
    at = len(plan.templates) - len(computed) + computed.index(name)
    # A plan from before has others there.
    return plan.template_spans[at] if at >= 0 and plan.templates[at] == parts[name] else None
