"""Whether a task is tried again (`do: retry`), when, and what is said when its attempts are used up (LANGUAGE §4).

`rules` asks a task's rules in order; of one with `do: retry` that matches, this decides.
"""

from noetl_ir.expr import Json
from noetl_ir.kinds import MAX_SECONDS, grown
from noetl_ir.plan import Rule

DEFAULT_DELAY = 1.0


def has_attempts_left(rule: Rule, attempt: int) -> bool:
    """Whether a rule tries a task again after attempt `attempt` (from 1)."""
    return attempt < rule.attempts


def used_up(task: str, attempt: int, cause: dict[str, Json]) -> dict[str, Json]:
    """The error of a task whose last attempt had the outcome `cause`."""
    message = f"task `{task}` did not succeed in {attempt} attempt{'' if attempt == 1 else 's'}"
    return {"code": "retry.exhausted", "message": message, "attempts": attempt, "cause": cause}


def wait_of(rule: Rule, attempt: int, delay: float, cap: float | None, chance: float) -> float:
    """Seconds to wait after attempt `attempt` (from 1); never above `cap`.

    none = delay, linear = delay·n, exponential = delay·multiplier^(n-1). Jitter takes from the base a share of up
    to a half, by `chance` in [0, 1), so it neither compounds nor exceeds the cap.
    """
    match rule.backoff:
        case "linear":
            base = delay * attempt
        case "exponential":
            base = grown(delay, rule.multiplier, attempt - 1)
        case _:
            base = delay
    if rule.jitter:
        # Downwards only: a base at the cap would otherwise lose half of its spread to the cap, and callers would
        # retry together.
        base *= 1 - chance / 2
    return min(base, MAX_SECONDS if cap is None else cap)
