"""What a step with `retry` does, said as plainly as formal §7, `spec/formal-extended.md` §6.2 and LANGUAGE §4 and §6.

The list: call, ask the policies in order, the first that is true is selected; none: the step is over as the outcome
is. Failures count from the first attempt of a call, pages in all. Whatever is used up fails; with LANGUAGE §4 a used-up
policy asks the later ones. Every page that came is collected and stored, the last one too: else it would be lost.
"""

from typing import Any

from translation.playing import Answering, Observed
from translation.retry_steps import Body, Mapping, Policy
from translation.world import Seen


class Failed(Exception):
    """The step has failed."""


def expected(body: Body) -> Observed:
    """What can be seen of a run of the step's playbook."""
    answering = Answering(body.answers)
    try:
        if isinstance(body.retry, Mapping):
            result = _by_mapping(body.retry, answering)
        else:
            result = _by_list(body.retry, answering)
    except Failed:
        return Observed(answering.calls, "failed", {})
    answering({"tag": "a", "got": result})
    return Observed(answering.calls, "completed", {})


def _by_mapping(retry: Mapping, answering: Answering) -> Any:
    for _ in range(retry.attempts):
        outcome = answering({"tag": "tool"})
        if not _repeats(retry, Seen(outcome, {}, {})):
            return _final(outcome)
    # Used up: of one attempt nothing was to be repeated, so that its own outcome holds.
    if retry.attempts == 1:
        return _final(outcome)
    raise Failed


def _repeats(retry: Mapping, seen: Seen) -> bool:
    """`stop_when` is asked first; alone it repeats whatever is not true. `retry_when` limits what repeats."""
    if retry.stop_when is not None and retry.stop_when.of(seen):
        return False
    if retry.retry_when is not None:
        return bool(retry.retry_when.of(seen))
    return retry.stop_when is not None or seen.outcome["status"] == "error"


def _final(outcome: Any) -> Any:
    if outcome["status"] == "error":
        raise Failed
    return outcome.get("result")


def _by_list(policies: tuple[Policy, ...], answering: Answering) -> Any:
    attempt = pages = 1
    page: Any = 0
    collected: list[Any] = []
    paging = next((policy for policy in policies if policy.about == "response"), None)
    while True:
        outcome = answering({"tag": "tool", "page": page})
        seen = Seen(outcome, {}, {})
        if outcome["status"] == "error":
            if not any(policy.when.of(seen) and attempt < policy.attempts for policy in policies):
                raise Failed
            attempt += 1
            continue
        result = outcome["result"]
        if paging is None:
            return result
        collected.append(result)
        if paging.stores:
            answering({"tag": "sink", "k": result["k"], "at": pages})
        if not paging.when.of(seen):
            return _together(paging, collected)
        if pages >= paging.attempts:
            raise Failed
        pages, attempt = pages + 1, 1
        page = result["k"] + 1 if paging.next_page else page


def _together(policy: Policy, pages: list[Any]) -> Any:
    """The collected value; without `collect` that of the last page."""
    parts = [page[policy.path] if policy.path else page for page in pages]
    match policy.strategy:
        case "append":
            return [part for each in parts for part in (each if isinstance(each, list) else [each])]
        case "merge":
            return {key: value for part in parts for key, value in part.items()}
        case _:
            return parts[-1]
