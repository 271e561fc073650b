"""When the next attempt is due (LANGUAGE §4): backoff in seconds from rule, attempt and chance."""

from noetl_ir.kinds import MAX_SECONDS, grown
from noetl_ir.plan import Rule

DEFAULT_DELAY = 1.0


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
