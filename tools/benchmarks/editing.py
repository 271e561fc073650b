"""Times what an editor waits for in a playbook of 1,000 steps: findings after a key, and a completion.

    python -m benchmarks.editing FILE

prints {"findings": seconds, "completion": seconds}: processor time, for neither waits for anything. Findings are those
of a text that was looked at before and has another character now; a completion is in an expression in its middle.
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
    """The medians of both."""
    from noetlc.cli.inspection import looked_into
    from noetlc.lsp.completion import offers_at
    from noetlc.lsp.known import KnownFile

    text = path.read_text("utf-8")
    compiled = looked_into(path.name, text.encode())[1]
    assert compiled is not None
    known = KnownFile(compiled)
    lines = text.split("\n")
    line = next(at for at in range(len(lines) // 2, len(lines)) if "{{ " in lines[at])
    column = lines[line].index("{{ ") + 4
    assert offers_at(known, text, line + 1, column), "nothing is offered"
    typed = iter("abcdefghijklmnop")
    return {
        "findings": _seconds(lambda: looked_into(path.name, f"{text}# {next(typed)}\n".encode())),
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
