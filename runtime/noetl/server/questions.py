"""Questions to the workers before a start: whether the secrets that a plan declares can be had where its steps run."""

import threading
from collections.abc import Callable, Mapping, Sequence

from noetl.ports import Board, TooLarge
from noetl_ir.commands import Check, Checked, Presence

WITHIN = 5.0
"""Seconds that an answer is waited for; what is not known by then does not hold up a start."""

MOST_ANSWERS = 1_000
"""How many answers to a question are kept: who sent them nobody knows."""


class Questions:
    """Asks on a board and waits for the answers; `crew` gives the workers as they said last. For any thread."""

    def __init__(self, board: Board, crew: Callable[[], Sequence[Presence]]) -> None:
        self._board = board
        self._crew = crew
        self._answers: dict[str, dict[str, Checked]] = {}
        self._heard = threading.Condition()

    def ask(self, check: Check, within: float = WITHIN) -> tuple[str, ...]:
        """What is wrong in each pool none of whose workers can begin it, a sentence each.

        Over as soon as one worker of each pool has all, or all that are ready in one of them lack something. Nobody
        is asked where nobody is there, or what is too large for the bus.
        """
        if not any(self._ready(pool) for pool in check.pools):
            return ()
        answers: dict[str, Checked] = {}
        with self._heard:
            self._answers[check.execution_id] = answers
            try:
                self._board.say(check)
                self._heard.wait_for(lambda: self._is_settled(check.pools, answers), within)
                return tuple(filter(None, (self._lack(pool, answers) for pool in check.pools)))
            except TooLarge:
                return ()
            finally:
                del self._answers[check.execution_id]

    def hear(self, checked: Checked) -> None:
        """An answer came; one that nobody waits for any more is nothing."""
        with self._heard:
            answers = self._answers.get(checked.execution_id)
            if answers is not None and len(answers) < MOST_ANSWERS:
                answers[checked.worker] = checked
                self._heard.notify_all()

    def _is_settled(self, pools: Sequence[str], answers: Mapping[str, Checked]) -> bool:
        if any(self._lack(pool, answers) for pool in pools):
            return True
        return all(_has_all(pool, answers) or not self._ready(pool) for pool in pools)

    def _lack(self, pool: str, answers: Mapping[str, Checked]) -> str:
        """Why no worker of a pool can begin it; empty where one can, or may: not all of them have answered."""
        ready = self._ready(pool)
        if not ready or _has_all(pool, answers) or not all(worker in answers for worker in ready):
            return ""
        return f"no worker of pool `{pool}` has its secrets; {ready[0]}: {'; '.join(answers[ready[0]].problems)}"

    def _ready(self, pool: str) -> list[str]:
        return [each.worker for each in self._crew() if each.pool == pool and each.state == "ready"]


def _has_all(pool: str, answers: Mapping[str, Checked]) -> bool:
    return any(answer.pool == pool and not answer.problems for answer in answers.values())
