"""Times what an editor waits for in a playbook of 1,000 steps: findings after a key, and a completion.

    python -m benchmarks.editing FILE

prints {"findings": seconds, "anew": seconds, "completion": seconds}: processor time, for none of them waits for
anything. Findings are those of a workspace after a character in a line in the middle, and `anew` after a new line
there, which moves all below it; a completion is in an expression in the middle.
"""

import gc
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

ROUNDS = 5


def waits(path: Path) -> dict[str, float]:
    """The medians of all three."""
    from noetlc.cli.workspace import Workspace
    from noetlc.lsp.completion import offers_at
    from noetlc.lsp.known import KnownFile

    workspace, name = Workspace([]), path.name

    def findings(text: str) -> object:
        workspace.hold(name, text)
        return workspace.found_in(name, text)

    text = path.read_text("utf-8")
    compiled = workspace.found_in(name, text).compiled
    assert compiled is not None
    known = KnownFile(compiled)
    lines = text.split("\n")
    line = next(at for at in range(len(lines) // 2, len(lines)) if "{{ " in lines[at])
    named = next(at for at in range(len(lines) // 2, len(lines)) if "desc: " in lines[at])
    column = lines[line].index("{{ ") + 4
    assert offers_at(known, text, line + 1, column), "nothing is offered"

    def with_typed(typed: str) -> str:
        return "\n".join([*lines[:named], lines[named] + typed, *lines[named + 1 :]])

    typed, entered = iter("abcdefghijklmnop"), iter(range(1, ROUNDS + 1))
    return {
        "findings": _seconds(lambda: findings(with_typed(next(typed)))),
        "anew": _seconds(lambda: findings(with_typed("\n" * next(entered)))),
        "completion": _seconds(lambda: offers_at(known, text, line + 1, column)),
    }


def _seconds(work: Callable[[], object]) -> float:
    taken = []
    for _ in range(ROUNDS):
        gc.collect()
        begun = time.process_time()
        work()
        taken.append(time.process_time() - begun)
    return median(taken)


if __name__ == "__main__":
    print(json.dumps(waits(Path(sys.argv[1]))))
