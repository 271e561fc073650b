"""Keys that are accepted and have no effect: which are worth a word, and what to write instead (LANGUAGE §1)."""

from noetlc.source.nodes import Mapping, Node, Scalar, Sequence

SO_ANYWAY = frozenset({"chunk_size", "inline_max_bytes", "output_select", "return_result", "scope", "select", "task"})
"""What these ask for is so without them: every key of a result stays readable, whatever its size, as long as its run
lasts, all rows of a transfer go over, and a call waits for its child, and is known by its task.
"""

LEAVE_OUT = "leave it out: nothing reads it"

INSTEAD = {
    "auth": "no statement gets credentials from it: give them to a task of the database's own kind, or by a template",
    "async": "the step runs as any other: leave it out",
    "backoff_limit": "write a rule with `do: retry`",
    "cache": "each run asks anew: leave it out, or keep the value in `ctx`",
    "compensation": "write `compensate: STEP`, the step that undoes a run when main has failed",
    "deadline_s": "write `timeout_s`",
    "compression": "results are stored as they are: leave it out",
    "defaults": "write it at the tasks that need it, in their `spec`",
    "exports": "a shell task gives what it prints: print it, and read `stdout` of the step",
    "final_step": "a run ends when no step is left: lead the last steps to it by `next`",
    "gcs_credential": "no statement gets credentials from it: give them by a template",
    "job": "the script runs on the worker; a job of its own is a task of kind `container`",
    "log": "print it in a task, or write it to where it is looked for",
    "no_next_is_error": "write an arc without `when` to a step that fails",
    "pool": "each task has its own connection: leave it out",
    "ttl": "what is stored stays as long as the log of its run: leave it out",
    "results": "results keep the order of the items in any case: leave it out",
}
"""What to write instead of a key, or why to leave it out."""


def help_for(word: str) -> str:
    """The advice about such a key."""
    return INSTEAD.get(word, LEAVE_OUT)


def asks_for_nothing(word: str, node: Node | None) -> bool:
    """Whether nobody is misled by a key without effect: its value is empty or off, or the key asks for what happens
    anyway.
    """
    match node:
        case Scalar(value=value):
            empty = value is None or value is False or value == ""
        case Mapping(entries=inside) | Sequence(items=inside):
            empty = not inside
        case _:
            empty = False
    return empty or word in SO_ANYWAY
