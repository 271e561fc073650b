"""The command line of the compiler: the commands in `cli/<command>.py` (`noetl_cli`).

Exit codes: 0 no errors, 1 errors found, 2 wrong usage, 3 an error of ours.
"""

from collections.abc import Sequence

from noetl_cli import CommandLine

COMMANDS: dict[str, str] = {
    "compile": "Compile playbooks to plans.",
    "lint": "Check playbooks and report what is wrong.",
    "diff": "Show what a change changes in what a playbook does.",
    "migrate": "Rewrite older dialects as canonical source.",
    "graph": "Draw a playbook, with findings or an execution on it.",
    "analyze": "Prove what can and cannot happen.",
    "explain": "Explain a diagnostic code.",
    "lsp": "Serve an editor: findings, completion, navigation.",
    "schema": "Print a JSON Schema.",
    "dump": "Show what a playbook is after a pass.",
    "where": "Show where an element of a plan was written.",
    "completion": "Let your shell complete commands, options and files.",
}
"""Command → its one line in `--help`, in the order shown; the same text as the command's short help."""

LINE = CommandLine("noetlc", "Compile, check and look at NoETL playbooks.", __name__, COMMANDS)
group = LINE.group


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line, by default the process's own, and return its exit code. Raises nothing."""
    return LINE.run_process() if argv is None else LINE.run(argv)
