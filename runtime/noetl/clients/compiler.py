"""Compiling playbooks: `noetlc compile` in a process of its own, bounded in time and memory.

The runtime never imports the compiler: a source is untrusted, and what the compiler does with it cannot touch the
process that owns executions. The same goes for YAML, which only the compiler reads.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath

from noetl.host.processes import child_environ
from noetl_ir.expr import Json
from noetl_ir.plan_sources import ENDING, read_sources
from noetl_ir.records import NamedTuple

SECONDS = 120
MEMORY = 4 << 30
"""Limits of one compile: wall-clock seconds, bytes of address space."""

FINDINGS, USAGE = 1, 2
"""Exit codes of the compiler: something was found, or cannot be asked."""

STANDARD_INPUT = Path("-")
_SEVERAL = "the file has several documents; compile it with `noetlc compile` and run one of the plans"


class CompileError(Exception):
    """The playbook does not compile; the text is the compiler's own, `code` its exit code (`FINDINGS`, `USAGE`)."""

    def __init__(self, text: str, code: int) -> None:
        super().__init__(text)
        self.code = code


class CompiledPlaybook(NamedTuple):
    """The bytes of a plan, the sources of it and of the plans that it embeds by their digests, and what the compiler
    said.
    """

    plan: bytes
    sources: dict[str, bytes]
    said: str = ""


def compile_playbook(source: Path, folders: Sequence[Path], data: bytes = b"") -> CompiledPlaybook:
    """The plan of a playbook file. Raises CompileError.

    `data` is the playbook itself where `source` is standard input, which the caller has read.
    """
    with tempfile.TemporaryDirectory(prefix="noetl-") as folder:
        words = [word for catalogue in folders for word in ("--path", str(catalogue))]
        return _compiled(Path(folder, "plan.ir"), [*words, "--", str(source)], data, str(source))


def compile_source(data: bytes, name: str, folders: Sequence[Path]) -> CompiledPlaybook:
    """The plan of a playbook that came from elsewhere, as if it lay in a file of that name. Raises CompileError.

    The plan names it so where something fails, and is the same as that of the file.
    """
    # The name comes over the API: it must name a file below the temporary folder.
    source = Path(*(part for part in PurePosixPath(name).parts if part not in ("/", "..")))
    with tempfile.TemporaryDirectory(prefix="noetl-") as folder, tempfile.TemporaryDirectory(prefix="noetl-") as made:
        try:
            Path(folder, source.parent).mkdir(parents=True, exist_ok=True)
            Path(folder, source).write_bytes(data)
        except (OSError, ValueError):
            raise CompileError(f"`{name}` cannot be the name of a file", USAGE) from None
        # Absolute, as the compiler runs in the temporary folder, so that the plan names its source as the caller did.
        words = [word for catalogue in folders for word in ("--path", str(catalogue.absolute()))]
        return _compiled(Path(made, "plan.ir"), [*words, "--", str(source)], b"", name, folder)


def _compiled(
    target: Path, words: Sequence[str], data: bytes, name: str, folder: str | None = None
) -> CompiledPlaybook:
    _, said = _run("noetlc.cli", ["compile", "--sources", "-o", str(target), *words], data, name, folder)
    # With several documents the compiler writes several plans, under names of their own.
    if not target.exists():
        raise CompileError(f"{name}: {_SEVERAL}", FINDINGS)
    sources, _ = read_sources(Path(f"{target}{ENDING}").read_bytes())
    return CompiledPlaybook(target.read_bytes(), sources, said)


def suite_bytes(source: Path, folders: Sequence[Path], wish: str = "") -> tuple[bytes, str]:
    """The suite in a file of tests (`noetl_ir.suite`), with its playbook compiled, and what the compiler said about
    them. With the wish `coverage` it has what a run of the playbook can reach; with `generate` the source is a
    playbook, and its cases reach all of that. Raises CompileError.
    """
    with tempfile.TemporaryDirectory(prefix="noetl-") as folder:
        target = Path(folder) / "suite"
        words = ["-o", str(target), *([f"--{wish}"] if wish else [])]
        for catalogue in folders:
            words += ["--path", str(catalogue)]
        _, said = _run("noetlc.cli.suite", [*words, str(source)], b"", str(source))
        return target.read_bytes(), said


def draw_coverage(playbook: str, folders: Sequence[Path], target: str, coverage: bytes) -> None:
    """A picture of a playbook with what tests reached, in the format that its name ends in. Raises CompileError."""
    words = [word for catalogue in folders for word in ("--path", str(catalogue))]
    _run("noetlc.cli", ["graph", "--coverage", "-", "-o", target, *words, "--", playbook], coverage, playbook)


def picture_of(data: bytes) -> str:
    """The picture of a plan's steps as SVG, all of them: boxes and arrows bear their ids. Raises CompileError."""
    return _run("noetlc.cli", ["graph", "--format", "svg", "--boxes", "0", "--", "-"], data, "plan")[0]


def verdicts_of(data: bytes, source: bytes | None) -> str:
    """The verdicts of analysis on a plan, as JSON, with some seconds for each question; with those on what the playbook
    promises where its source is there. Raises CompileError.
    """
    words = ["analyze", "--format", "json"]
    if source is not None:
        with tempfile.TemporaryDirectory(prefix="noetl-") as folder:
            Path(folder, "playbook.yaml").write_bytes(source)
            asked = [*words, "--source", "playbook.yaml", "--", "-"]
            # A promise that is no question has a verdict that says so, and then the exit code is that of wrong usage.
            told = _run("noetlc.cli", asked, data, "plan", folder, good=(0, FINDINGS, USAGE))[0]
            if told:
                return told
            # There is no playbook in the source that the plan was made of.
    return _run("noetlc.cli", [*words, "--", "-"], data, "plan", good=(0, FINDINGS))[0]


def findings_of(source: bytes) -> str:
    """The findings of lint in a source, as JSON. Children are not looked for. Raises CompileError."""
    with tempfile.TemporaryDirectory(prefix="noetl-") as folder:
        # Findings follow from the source alone: a configuration that lies above the temporary folder is not asked.
        Path(folder, "noetlc.toml").touch()
        words = ["lint", "--format", "json", "--config", "noetlc.toml", "--", "-"]
        return _run("noetlc.cli", words, source, "source", folder, good=(0, FINDINGS))[0]


def differences_of(old: bytes, new: bytes) -> str:
    """The changes in what one plan does to what another does, as JSON. Raises CompileError."""
    with tempfile.TemporaryDirectory(prefix="noetl-") as folder:
        Path(folder, "old.ir").write_bytes(old)
        words = ["diff", "--format", "json", "--", "old.ir", "-"]
        return _run("noetlc.cli", words, new, "plan", folder, good=(0, FINDINGS))[0]


def explanation_of(code: str) -> str:
    """The page of a finding, by code or name. Raises CompileError, with `USAGE` where there is none."""
    return _run("noetlc.cli", ["explain", "--", code], b"", code)[0]


def places_in(name: str, data: bytes, keys: Sequence[Sequence[str]]) -> list[tuple[int, int]]:
    """Line and column of some keys of a YAML document, by their paths. Raises CompileError."""
    found = json.loads(_run("noetlc.cli.places", [name, json.dumps(keys)], data, name)[0])
    return [(line, column) for line, column in found]


def mapping_of(
    values: Mapping[str, Json], names: Mapping[str, Sequence[str]]
) -> tuple[dict[str, Json], list[tuple[list[str], str]]]:
    """The templates in some values, whose expressions read some names, as the runtime evaluates them
    (`noetl_ir.plan_format.json`), and what is wrong with them: the path of a key, and a sentence. Raises CompileError.
    """
    asked = json.dumps({"values": values, "names": {name: [*known] for name, known in names.items()}})
    found = json.loads(_run("noetlc.cli.mapping", [], asked.encode(), "the document")[0])
    return found, [(path, text) for path, text in found.pop("errors")]


def plain_document(name: str, data: bytes) -> str:
    """The one YAML document in some bytes, as JSON; `name` is for messages. Raises CompileError."""
    return _run("noetlc.cli.plain", [name], data, name)[0]


def _run(
    module: str, words: list[str], data: bytes, name: str, folder: str | None = None, good: tuple[int, ...] = (0,)
) -> tuple[str, str]:
    """Run a program of the compiler, in a folder if one is given; returns its standard output and what it said.

    Raises CompileError where its exit code is none of the `good` ones.
    """
    command = [sys.executable, "-P", "-m", module, *words]  # no module comes from the folder, whose files are untrusted
    try:
        done = subprocess.run(
            command,
            input=data,
            capture_output=True,
            timeout=SECONDS,
            preexec_fn=_limit(),
            cwd=folder,
            # The compiler reads text from outside and needs nothing of ours: neither the store's password nor a
            # token.
            env=child_environ({}),
        )
    except subprocess.TimeoutExpired:
        raise CompileError(f"{name}: the compiler was stopped after {SECONDS} s", FINDINGS) from None
    output, said = (stream.decode("utf-8", "replace").strip() for stream in (done.stdout, done.stderr))
    if done.returncode not in good:
        raise CompileError(said or output or f"{name}: the compiler ended with {done.returncode}", done.returncode)
    return output, said


def _limit() -> Callable[[], None] | None:
    """Bound the child's memory where the system can."""
    try:
        import resource
    except ImportError:
        return None
    # A playbook may be made to need any amount of memory. The limit makes that an error of its compile, and not the
    # end of the server.
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)) if os.name == "posix" else None
