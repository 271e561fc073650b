"""Plans and where they come from: a file, the store, the plans a plan embeds, and catalogue folders."""

import gc
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from noetl.app.verifier import only_own, verifier
from noetl.engine.program import Program
from noetl.ports import Store, StoreFailure
from noetl.server.children import NotFound
from noetl_ir.evaluate import Scope
from noetl_ir.plan_format import HEADER, PlanError, digest_of, open_plan

if TYPE_CHECKING:
    from pathlib import Path

    from noetl_ir.plan_sources import SourcedPlan

PLAN_SUFFIX = ".ir"
SOURCE_SUFFIXES = (".yaml", ".yml")
CompileFile: TypeAlias = "Callable[[Path], tuple[bytes, Mapping[str, bytes]]]"
"""Compiles a playbook file to plan bytes, with the sources of the plan and of those that it embeds by their digests;
raises NotFound when it does not compile.
"""
_NONE: "Mapping[str, bytes]" = MappingProxyType({})


WORTH = 32 << 10
"""Bytes of a plan from which it pays to seal that it was verified: smaller ones are read through in milliseconds."""


def program_of(data: bytes, *, verified: bool = False) -> Program:
    """A program from plan bytes; raises PlanError when they are no plan that this version runs.

    `verified` bytes were read by this version before, so the checks are left out. A plan is many small objects that
    live as long as the process. The cyclic collector is kept off them while they are made, where it would take half of
    the time, and afterwards.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        plan = open_plan(data, verified=verified)
        # The seal covers the checks of this package. A kind that a plugin brings may have changed since, so its plan
        # is read through again.
        if verified and not only_own(plan.kinds):
            plan = open_plan(data)
        program = Program(plan, digest_of(data), data, _render_block)
    finally:
        if collecting:
            gc.enable()
    # What was made goes where the collector never looks again. A plan lives as long as the process, and each full
    # collection would walk it.
    gc.freeze()
    return program


def _render_block(text: str, scope: Scope) -> str:
    """Jinja2 is imported only once a block template is there to be rendered."""
    from noetl.worker.templates import render

    return render(text, scope)


class Programs:
    """Finds programs, each read once. `folders` is the catalogue, `compiler` compiles a source found in it."""

    def __init__(self, store: Store, folders: "tuple[Path, ...]", compiler: CompileFile) -> None:
        self._store = store
        self._folders = folders
        self._compile = compiler
        self._known: dict[str, Program] = {}

    def add_plan(self, data: bytes, *, compiled: bool = False, sources: "Mapping[str, bytes]" = _NONE) -> Program:
        """A program from plan bytes, kept in the store by its digest, with the `sources` that it and the plans that it
        embeds were compiled from, by their digests.

        Bytes from outside are verified in any case. Bytes that were `compiled` here are trusted like stored ones: where
        the store has a seal for them, they are not verified again.
        """
        program = self.read_plan(data, compiled=compiled)
        self.add_program(program, sources)
        return program

    def read_plan(self, data: bytes, *, compiled: bool = False) -> Program:
        """A program from plan bytes, as `add_plan` has it, that is not put into the store."""
        return self._stored(data) if compiled else self._keep(data)

    def add_program(self, program: Program, sources: "Mapping[str, bytes]" = _NONE, *, registered: bool = False) -> int:
        """Keep a program that was made in this process, as if its bytes had been given; its version (`put_plan`)."""
        self._known[program.digest] = program
        path = program.plan.path or program.plan.name
        lacking = self._lacking(program, sources) if sources else program.sourced()
        return self._store.put_plan(program.digest, path, program.bytes, registered=registered, sources=lacking)

    def keep_program(self, program: Program, sources: "Mapping[str, bytes]" = _NONE) -> None:
        """Keep a program for executions, which makes it a version of its path only where there is none."""
        path, lacking = program.plan.path or program.plan.name, self._lacking(program, sources)
        self._store.keep_plan(program.digest, path, program.bytes, lacking)

    def _lacking(self, program: Program, sources: "Mapping[str, bytes]") -> "Sequence[SourcedPlan]":
        """The plans that the store has no source of, and will have."""
        # The usual case first: all are there, and no plan is looked into.
        if not sources or not (names := self._store.without_source([*sources])):
            return ()
        from noetl_ir.plan_sources import sourced_plans

        return [*sourced_plans(program.bytes, {name: sources[name] for name in names}, program.plan)]

    def load(self, digest: str) -> Program:
        """The program that an execution runs; raises NotFound."""
        known = self._known.get(digest)
        if known is not None:
            return known
        data = self._store.plan_bytes(digest)
        if data is None:
            raise NotFound(f"the store has no plan with digest {digest}")
        program = self._stored(data)
        # The store may have been altered, or a server may answer with something else. A run goes on with its own plan
        # or not at all.
        if program.digest != digest:
            raise NotFound(f"the store has another plan under the digest {digest}")
        return program

    def find(self, caller: Program, path: str) -> Program:
        """The program of a child: embedded in the caller's plan, else in the catalogue, else stored. In the catalogue
        what has the path as its `metadata.path` comes before a file of that path.
        """
        # The child that was compiled in with its caller comes first: a run must not change since somebody edits the
        # catalogue.
        for child in caller.plan.children:
            if child.path == path:
                return self._known.get(child.digest) or self._stored(child.data)
        problems: list[NotFound] = []
        for folder in self._folders:
            found = self._named_in(folder, path, problems)
            if found is not None:
                return found
        for folder in self._folders:
            found = self._in_folder(folder, path)
            if found is not None:
                return found
        stored = self._store.plan_at(path)
        if stored is not None:
            return self._known.get(stored[0]) or self._stored(stored[1])
        # The source was found and does not compile. That is a better answer than that there is none.
        if problems:
            raise problems[0]
        where = ", ".join(str(folder) for folder in self._folders) or "no catalogue folder was given (--path)"
        raise NotFound(f"playbook `{path}` is not embedded, not in the store, and not found: {where}")

    def _named_in(self, folder: "Path", path: str, problems: list[NotFound]) -> Program | None:
        """The source in a folder whose `metadata.path` is the path; why those that say it do not compile is kept.

        No YAML is read here: each source that has a line with that `path` is compiled, also one that only calls it.
        """
        says = re.compile(
            rb"(?m)^[^#\n]*\bpath[\"']?[ \t]*:[ \t]*[\"']?" + re.escape(path.encode()) + rb"[\"']?\s*(?:[,}#]|$)"
        )
        # Sorted, as the order of a file system is of no account: two files that claim one path have the same winner
        # on every machine.
        for file in sorted(folder.resolve().rglob("*.y*ml")):
            if file.suffix not in SOURCE_SUFFIXES or not file.is_file() or not says.search(file.read_bytes()):
                continue
            try:
                found = self._compiled(file)
            except NotFound as problem:
                problems.append(problem)
                continue
            if found.plan.path == path:
                return found
        return None

    def _in_folder(self, folder: "Path", path: str) -> Program | None:
        root = folder.resolve()
        for name in (path, f"{path}{PLAN_SUFFIX}", f"{path}.yaml", f"{path}.yml"):
            file = (root / name).resolve()
            # The path comes from a playbook, and may be computed: `../../etc` or a link out of the folder is refused
            # after it is resolved.
            if file.is_relative_to(root) and file.is_file():
                return self._keep(file.read_bytes()) if file.suffix == PLAN_SUFFIX else self._compiled(file)
        return None

    def _compiled(self, file: "Path") -> Program:
        """The program of a playbook file, whose sources come into the store with it when it is called."""
        data, sources = self._compile(file)
        program = self._keep(data)
        program.sourced = lambda: self._lacking(program, sources)
        return program

    def _stored(self, data: bytes) -> Program:
        """A program from bytes that were kept: read through once by each version, whatever others there were.

        What a version found is sealed in the store, under the digest, and good for these bytes alone.
        """
        name = verifier() if len(data) >= WORTH else ""
        return self._keep(data, verified=bool(name) and self._store.vouches(data[HEADER - 32 : HEADER].hex(), name))

    def _source(self, digest: str) -> bytes | None:
        """The source of a plan, asked for where something failed: a store that does not answer has none."""
        with suppress(StoreFailure):
            return self._store.source(digest)
        return None

    def _keep(self, data: bytes, *, verified: bool = False) -> Program:
        try:
            program = program_of(data, verified=verified)
        except PlanError as problem:
            raise NotFound(f"not a plan that this version runs: {problem}") from problem
        self._known[program.digest] = program
        program.source = partial(self._source, program.digest)
        if not verified and len(data) >= WORTH and (name := verifier()) and only_own(program.plan.kinds):
            with suppress(StoreFailure):  # whoever looks at a full store has it verified again
                self._store.vouch(program.digest, name)
        return program
