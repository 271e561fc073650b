"""Inputs of a run: the plan, the payload, the script. All of it is untrusted; what is wrong with it is told.

YAML is read by the compiler alone, in a process of its own: for the playbook as a compile, for a script by
`noetlc.cli.plain`. A script that is JSON is read here.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from noetl.cli.text import Problem, escaped
from noetl_cli import STANDARD_INPUT
from noetl_cli import lazy_click as click
from noetl_ir.expr import Json
from noetl_ir.plan_format import MAGIC
from noetl_ir.records import NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

    from noetl.app.runtime import Runtime
    from noetl.engine.program import Program
    from noetl.worker.scripted import Script

strict_option = click.option("--strict-inputs", is_flag=True, help="Refuse names that are no keys of the workload.")


def _labels(_: click.Context, __: click.Parameter, pairs: tuple[str, ...]) -> dict[str, str]:
    """Labels by name. Raises UsageError."""
    if not pairs:
        return {}
    from noetl.ports.queries import faulty_labels

    found: dict[str, str] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            raise click.UsageError(f"--label {escaped(pair)}: write NAME=VALUE, as in --label team=data")
        if name in found:
            raise click.UsageError(f"--label {escaped(pair)}: `{escaped(name)}` has a value already")
        found[name] = text
    if why := faulty_labels(found):
        raise click.UsageError(f"--label: {escaped(why)}")
    return found


label_option = click.option(
    "--label", "labels", multiple=True, metavar="NAME=VALUE", callback=_labels,
    help="A text to find the execution by: team=data.",
)  # fmt: skip
MAX_BYTES = 1 << 30
_MAX_DEPTH = 200


class PlanSource(NamedTuple):
    """The bytes of a plan, whether they were compiled here, and the sources of it and of the plans that it embeds, by
    their digests: none where a plan was given that has none beside it.
    """

    data: bytes
    compiled: bool
    sources: Mapping[str, bytes] = MappingProxyType({})


def plan_bytes(name: str, folders: tuple[Path, ...], *, quiet: bool, undone: str) -> PlanSource:
    """The bytes of a plan: a plan file as it is, a plan in JSON form written as bytes, a playbook compiled.

    The compiler's errors go to standard error, its warnings and the number of its notes unless `quiet`.
    `undone` says what did not happen where it does not compile.
    """
    data = read_input(name)
    if data.startswith(MAGIC):
        return PlanSource(data, compiled=False, sources=_sources_beside(name, data))
    # A playbook in JSON is YAML too, and goes to the compiler: only the name of the format tells the two apart.
    if data.lstrip()[:1] == b"{" and b'"noetl-plan"' in data:
        plan = _from_json(name, data)
        return PlanSource(plan, compiled=False, sources=_sources_beside(name, plan))
    from pathlib import Path

    from noetl.clients.compiler import CompileError, compile_playbook

    try:
        made = compile_playbook(Path(name), folders, data if name == STANDARD_INPUT else b"")
    except CompileError as problem:
        click.echo(_told(_without_notes(str(problem), name)), err=True)
        raise Problem(f"{name} does not compile; {undone}") from None
    if made.said and not quiet:
        click.echo(_told(_without_notes(made.said, name)), err=True)
    return PlanSource(made.plan, compiled=True, sources=made.sources)


def _sources_beside(name: str, plan: bytes) -> dict[str, bytes]:
    """The sources that `noetlc compile --sources` wrote beside the file of a plan; none where there are none. That some
    are of other plans, as when only one of the two files was written again, is told.
    """
    from noetl_ir.plan_sources import ENDING, BadSources, read_sources, sourced_plans

    beside = name + ENDING
    if name == STANDARD_INPUT or not os.path.isfile(beside):
        return {}
    try:
        found = read_sources(read_input(beside))[0]
    except BadSources as problem:
        raise Problem(
            f"{escaped(beside)}: {problem}; write it again with `noetlc compile --sources`, or remove it"
        ) from None
    own = {one.digest for one in sourced_plans(plan, found)}
    if len(own) < len(found):
        whose = "are of other plans" if not own else "are in part of other plans"
        click.echo(
            f"warning: {escaped(beside)}: the sources {whose}, and are passed over: "
            "write both again with `noetlc compile --sources`",
            err=True,
        )
    return found


def program_from(runtime: Runtime, found: PlanSource) -> Program:
    """The program of a plan that is not in the store yet."""
    from noetl.server.children import NotFound

    try:
        return runtime.keep(lambda: runtime.programs.read_plan(found.data, compiled=found.compiled))
    except NotFound as problem:
        raise Problem(str(problem)) from None


def _without_notes(text: str, name: str) -> str:
    """The errors and warnings among the findings that the compiler printed, and how many notes there are beside them:
    those on older forms would hide what the run does.
    """
    found = text.split("\n\n")
    kept = [one for one in found if ": note[" not in one.partition("\n")[0]]
    notes = len(found) - len(kept)
    if not notes:
        return text
    where = f"`noetlc lint {name}`" if name != STANDARD_INPUT else "`noetlc lint`"
    kept.append(f"and {notes} note{'s' if notes > 1 else ''}, which {where} shows")
    return "\n\n".join(kept)


def _told(text: str) -> str:
    """The lines that the compiler printed, line by line."""
    return "\n".join(escaped(line) for line in text.splitlines())


def _from_json(name: str, data: bytes) -> bytes:
    from noetl_ir.plan_format import PlanError, write_plan
    from noetl_ir.plan_format.json import plan_from_json

    try:
        return write_plan(plan_from_json(json_of(data.decode("utf-8", "surrogatepass"))))
    except (PlanError, ValueError) as problem:
        raise Problem(f"{name}: not a plan that this version runs: {problem}") from None


def read_input(name: str) -> bytes:
    """The bytes of a file; `-` is standard input."""
    try:
        if name == STANDARD_INPUT:
            # One byte more than allowed tells that there are more, without reading a pipe that never ends.
            data = sys.stdin.buffer.read(MAX_BYTES + 1)
        else:
            with open(name, "rb") as file:
                data = file.read(MAX_BYTES + 1)
    except OSError as problem:
        raise click.UsageError(f"{escaped(name)} cannot be read: {problem.strerror}") from None
    if len(data) > MAX_BYTES:
        raise click.UsageError(f"{escaped(name)} is larger than {MAX_BYTES} bytes")
    return data


def json_of(text: str) -> Json:
    """The value of JSON; raises ValueError for anything else, NaN, infinities and bottomless nesting included."""
    from noetl.clients.content import json_of as value_of

    value = value_of(text)
    # Python's reader takes more levels than what works on values afterwards.
    if _is_deeper(value, _MAX_DEPTH):
        raise ValueError("it is nested too deeply")
    return value


def _is_deeper(value: Json, depth: int) -> bool:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return depth == 0 or any(_is_deeper(part, depth - 1) for part in parts if isinstance(part, dict | list))


def payload_of(text: str | None) -> dict[str, Json]:
    """The payload that `--payload` gives."""
    payload: dict[str, Json] = {}
    if text is not None:
        data = read_input(text[1:]) if text.startswith("@") else text.encode("utf-8", "surrogatepass")
        try:
            value = json_of(data.decode("utf-8", "surrogatepass"))
        except ValueError as problem:
            raise click.UsageError(f"--payload is no JSON: {problem}") from None
        if not isinstance(value, dict):
            raise click.UsageError("--payload must be a JSON object")
        payload = value
    return payload


IsText = Callable[[tuple[str, ...]], bool]
"""Whether the value at a path of keys is declared to be text."""


def with_sets(payload: dict[str, Json], sets: Iterable[str], is_text: IsText | None = None) -> dict[str, Json]:
    """A payload with each `--set` merged over it, in order."""
    merged = _copied(payload)
    for words in sets:
        _set(merged, words, is_text or (lambda path: False))
    return merged


def _copied(payload: dict[str, Json]) -> dict[str, Json]:
    """A payload whose mappings can be written to."""
    # Mappings alone: `--set` writes into these, and replaces lists whole.
    return {key: _copied(value) if isinstance(value, dict) else value for key, value in payload.items()}


def _value(text: str, path: tuple[str, ...], is_text: IsText) -> Json:
    """JSON where it is JSON, else text; what is declared to be text is JSON only in quotes."""
    try:
        value = json_of(text)
    except ValueError:
        return text
    return text if not isinstance(value, str) and is_text(path) else value


def _set(payload: dict[str, Json], words: str, is_text: IsText) -> None:
    """One `a.b=v`."""
    path, equals, text = words.partition("=")
    keys = path.split(".")
    if not equals or not all(keys):
        raise click.UsageError(f"--set {escaped(words)}: write it as name=value or outer.inner=value")
    if len(keys) > _MAX_DEPTH:
        raise click.UsageError(f"--set {escaped(words[:40])}…: it is nested too deeply")
    # Behind the checks of the path: a value may be large, and is read once.
    value = _value(text, tuple(keys), is_text)
    here = payload
    for key in keys[:-1]:
        inner = here.setdefault(key, {})
        # To replace it silently by a mapping would throw away what an earlier --set, or the payload, said.
        if not isinstance(inner, dict):
            raise click.UsageError(f"--set {escaped(words)}: `{escaped(key)}` is a value already, not a mapping")
        here = inner
    here[keys[-1]] = value


def script_of(name: str) -> Script:
    """The script in a YAML or JSON file."""
    from noetl.worker.scripted import ScriptError, read_script

    try:
        return read_script(document_in(name, "--script"))
    except ScriptError as problem:
        raise click.UsageError(f"--script {escaped(name)}: {escaped(str(problem))}") from None


def document_in(name: str, what: str = "") -> Json:
    """The document in a YAML or JSON file, which is given as `what`. Raises UsageError."""
    return document_of(name, read_input(name), what)


def document_of(name: str, data: bytes, what: str = "") -> Json:
    """The document in the bytes of a YAML or JSON file. Raises UsageError."""
    try:
        # JSON is tried first: it is read here in a millisecond, where YAML costs a process of the compiler.
        return json_of(data.decode("utf-8"))
    except ValueError:
        return _from_yaml(name, data, what)


def _from_yaml(name: str, data: bytes, what: str) -> Json:
    from noetl.clients.compiler import CompileError, plain_document

    try:
        return json_of(plain_document(name, data))
    except (CompileError, ValueError) as problem:
        raise click.UsageError(f"{what}: {_told(str(problem))}" if what else _told(str(problem))) from None


def slips_of(program: Program, payload: dict[str, Json]) -> tuple[str, ...]:
    """Sentences about a payload that may be amiss, and is not refused for it."""
    # Most runs have no payload, and start sooner without these.
    from noetl.engine.retyped import retyped
    from noetl.engine.unread import unread

    return (*unread(program, payload), *retyped(program, payload))
