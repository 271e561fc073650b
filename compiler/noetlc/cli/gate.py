"""One run of lint over many files: each checked by its own configuration, reported together."""

import sys
from collections.abc import Iterator
from functools import cache
from types import FunctionType
from typing import TYPE_CHECKING

from noetl_cli import BROKEN, STANDARD_INPUT
from noetl_cli import lazy_click as click
from noetl_cli.excerpts import PLAIN, Palette
from noetl_ir import registry
from noetl_ir.records import NamedTuple
from noetlc.cli.cache import Cache, cache_in, folder_of
from noetlc.cli.catalogue import Folders
from noetlc.cli.checking import CheckedFile, FileToCheck, check, counts_by_severity, text_of, unusable
from noetlc.cli.files import Unusable, over_cores, put, put_diff, shown_name
from noetlc.cli.findings import palette_of, threshold_of
from noetlc.cli.settings import Configuration, Configurations
from noetlc.diag.diagnostic import Severity
from noetlc.diag.findings import FindingsReport, Reported
from noetlc.diag.selection import INTERNAL, Selection, Unselectable, beginning_of

if TYPE_CHECKING:  # most runs have no baseline, and start sooner
    from noetlc.cli.baseline import Baseline

TEXTS = ("full", "text")
FORMATS = (*TEXTS, "json", "sarif", "github", "gitlab", "junit", "markdown")


class GateOptions(NamedTuple):
    """The command line; where it says nothing the configuration decides."""

    form: str
    output: str
    select: tuple[str, ...]
    ignore: tuple[str, ...]
    fail_on: str | None
    strict: bool
    baseline: str | None
    write_baseline: str | None
    fix: bool
    unsafe: bool
    diff: bool
    config: str | None
    cached: bool
    cache_dir: str | None
    folders: tuple[str, ...]

    @property
    def mend(self) -> str:
        """Which fixes are applied."""
        if not (self.fix or self.diff):
            return ""
        return "any" if self.unsafe else "safe"


class LintRun:
    """A run: what was asked of which files. What it reads beside them it reads once."""

    def __init__(self, asked: GateOptions, names: list[str]) -> None:
        self._asked = asked
        self._names = names
        self._configurations = Configurations(asked.config or "")
        self._baselines: dict[str, Baseline] = {}
        self._caches: dict[str, Cache] = {}
        # All files of the run are known to each other, so that calls between them are followed without `--path`.
        self._catalogue = Folders(asked.folders, [name for name in names if name != STANDARD_INPUT])

    def status(self) -> int:
        """Do what was asked, and return the exit code."""
        asked = self._asked
        for name in {asked.output, asked.write_baseline or STANDARD_INPUT} - {STANDARD_INPUT}:
            _refuse_folder(name)
        works = [self._work(name) for name in self._names]  # all wrong usage shows before anything is done
        if asked.diff:
            return _diffs(list(over_cores(check, works)))
        if asked.write_baseline is not None:
            return self._written(list(over_cores(check, works)), asked.write_baseline)
        return self._reported(over_cores(check, works))

    def _work(self, name: str) -> FileToCheck:
        asked = self._asked
        settings = self._configurations.settings_of(name)
        baseline = self._baseline(settings)
        return FileToCheck(
            name, asked.form, self._palette(), selection_of(name, settings, asked.select, asked.ignore),
            baseline.entries_of(shown_name(name)) if baseline is not None else (), self._cache(name, settings),
            asked.mend, self._catalogue,
        )  # fmt: skip

    def _palette(self) -> Palette:
        if self._asked.output != STANDARD_INPUT:
            return PLAIN
        return palette_of(sys.stderr if self._to_stderr() else sys.stdout)

    def _to_stderr(self) -> bool:
        """Whether standard output is for the mended file."""
        return self._asked.fix and STANDARD_INPUT in self._names and self._asked.output == STANDARD_INPUT

    def _baseline(self, settings: Configuration) -> "Baseline | None":
        name = self._asked.baseline or settings.baseline
        # A new baseline knows everything that is found, also what an old one knew.
        if not name or self._asked.write_baseline is not None:
            return None
        if name not in self._baselines:
            from noetlc.cli.baseline import read_baseline

            self._baselines[name] = read_baseline(name)
        return self._baselines[name]

    def _cache(self, name: str, settings: Configuration) -> Cache | None:
        # Standard input has no name by which it could be found again.
        if not self._asked.cached or name == STANDARD_INPUT:
            return None
        folder = self._asked.cache_dir or settings.cache or folder_of(settings.home)
        if folder not in self._caches:
            self._caches[folder] = cache_in(folder)
        return self._caches[folder]

    def _reported(self, checked: Iterator[CheckedFile]) -> int:
        """Write what was mended, then tell what is left."""
        asked, to_stderr = self._asked, self._to_stderr()
        seen: list[CheckedFile] = []
        texts: list[str] = []
        for found in list(checked) if asked.fix else checked:  # nothing is written before all are looked at
            one = self._with_fixes_written(found)
            if one.text and asked.output == STANDARD_INPUT:
                click.echo(one.text, err=to_stderr)
            texts.append(one.text)
            # Contents are let go at once: a run may look at thousands of files.
            seen.append(one._replace(text="", before=b"", after=None))
        stale = self._stale(seen)
        if asked.form not in TEXTS:
            files = tuple(shown_name(one.name) for one in seen)
            thresholds = {
                shown_name(name): self._threshold(name) for name in (*(one.name for one in seen), *self._baselines)
            }
            report = FindingsReport(files, (*(found for one in seen for found in one.findings), *stale), thresholds)
            self._put(_whole(asked.form, report))
        elif stale or asked.output != STANDARD_INPUT:
            told = self._text_of_stale(stale)
            if asked.output == STANDARD_INPUT:
                click.echo(told, err=to_stderr)
            else:
                self._put("\n".join([*filter(None, [*texts, told]), ""]))
        # Formats for programs have standard output and its ending for themselves.
        if asked.form in TEXTS or asked.output != STANDARD_INPUT:
            click.echo(_summary(seen, stale), err=True)
        return BROKEN if _is_broken(seen) else 1 if self._fails(seen, stale) else 0

    def _with_fixes_written(self, one: CheckedFile) -> CheckedFile:
        """Write a mended file; standard input goes to standard output, mended or not."""
        try:
            if one.after is not None:
                put(one.name, one.after)
            elif one.name == STANDARD_INPUT and one.before:
                put(one.name, one.before)
        except Unusable as problem:
            return unusable(one.name, self._asked.form, self._palette(), problem)
        return one

    def _put(self, text: str) -> None:
        data = text.encode("utf-8", "backslashreplace")
        if self._to_stderr():
            click.echo(data.decode(), err=True, nl=False)
        else:
            put(self._asked.output, data)

    def _stale(self, seen: list[CheckedFile]) -> list[Reported]:
        """The findings about entries of baselines that match nothing: those of these files, and of files that went."""
        if not self._baselines:
            return []
        out = []
        for name, baseline in self._baselines.items():
            # Only entries of files that were looked at, or are gone: a run over one folder says nothing of the
            # others.
            entries = {
                entry
                for one in seen
                if one.stale
                for entry in {*one.stale} & {*baseline.entries_of(shown_name(one.name))}
            }
            settings = self._configurations.settings_of(name)
            takes = selection_of(name, settings, self._asked.select, self._asked.ignore).takes
            out += [one for one in baseline.stale({*entries, *baseline.missing()}) if takes(one.diagnostic.code)]
        return out

    def _text_of_stale(self, stale: list[Reported]) -> str:
        from noetlc.source.text import Source

        parts = []
        for name, baseline in self._baselines.items():
            found = [one for one in stale if one.file == name]
            if found:
                parts.append(text_of(found, Source(name, baseline.text), self._asked.form, self._palette()))
        return "\n".join(parts)

    def _fails(self, seen: list[CheckedFile], stale: list[Reported]) -> bool:
        return any(one.counts.reach(self._threshold(one.name)) for one in seen) or any(
            one.diagnostic.severity >= self._threshold(one.file) for one in stale
        )

    def _threshold(self, name: str) -> Severity:
        """How severe a finding in a file is at least that fails the run."""
        asked = self._asked
        if asked.strict or asked.fail_on:
            return threshold_of(asked.fail_on or "error", strict=asked.strict)
        return threshold_of(self._configurations.settings_of(name).fail_on, strict=False)

    def _written(self, checked: list[CheckedFile], name: str) -> int:
        from noetlc.cli.baseline import write_baseline

        # A baseline with a mistake of ours would hide it for good.
        if _is_broken(checked):
            raise click.ClickException("an internal error is no finding for a baseline: lint without one tells more")
        found = [each for one in checked for each in one.findings]
        write_baseline(name, found)
        click.echo(f"{name}: {len(found)} finding{'' if len(found) == 1 else 's'}, from now on known", err=True)
        return 0


def selection_of(
    name: str, settings: Configuration, select: tuple[str, ...] = (), ignore: tuple[str, ...] = ()
) -> Selection:
    """The codes that are reported in a file: those of its configuration where a command line does not say others. A
    selector that fits no code is wrong usage.
    """
    return _selection(
        select or settings.select,
        "" if select else settings.file,
        ignore or settings.ignored_in(name),
        "" if ignore else settings.file,
    )


@cache
def _selection(select: tuple[str, ...], selecting: str, ignore: tuple[str, ...], ignoring: str) -> Selection:
    """The selection of some selectors, each with the file that has them."""
    return Selection(_beginnings(select, selecting, "select") or ("",), _beginnings(ignore, ignoring, "ignore"))


def _beginnings(words: tuple[str, ...], file: str, key: str) -> tuple[str, ...]:
    """The prefixes that the codes of selectors begin with. One that fits no code is wrong usage."""
    if not words:
        return ()
    from noetlc.rules import every_code

    slugs = {code: entry.slug for code, entry in every_code().items()}
    out = []
    for word in (part.strip() for each in words for part in each.split(",")):
        found = beginning_of(word, slugs)
        if isinstance(found, Unselectable):
            raise click.UsageError(f"{file or f'--{key}'}: {found}")
        out.append(found)
    return tuple(out)


def _refuse_folder(name: str) -> None:
    """Say before anything is done that an output cannot be written."""
    import os

    if os.path.isdir(name):
        raise click.UsageError(f"{name}: Is a directory")
    folder = os.path.dirname(name) or "."
    if not os.path.isdir(folder):
        raise click.UsageError(f"{name}: there is no folder {folder!r}")


def _is_broken(seen: list[CheckedFile]) -> bool:
    """Whether a mistake of ours is among the findings."""
    return any(found.diagnostic.code == INTERNAL for one in seen for found in one.findings)


def _whole(form: str, report: FindingsReport) -> str:
    from noetlc.rules import every_code

    return str(registry.load("noetlc.emit.findings", form, "emitted", FunctionType)(report, every_code()))


def _diffs(checked: list[CheckedFile]) -> int:
    """Print what fixes would change; 1 where they would change anything."""
    changed = [one for one in checked if one.after is not None]
    for one in changed:
        assert one.after is not None
        put_diff(one.name, one.before, one.after)
    fixes, files = sum(one.fixed for one in changed), len(changed)
    click.echo(
        f"{fixes} fix{'' if fixes == 1 else 'es'} would change {files} file{'' if files == 1 else 's'}", err=True
    )
    return 1 if changed else 0


def _summary(seen: list[CheckedFile], stale: list[Reported]) -> str:
    counts = counts_by_severity(stale)
    for one in seen:
        counts = counts.plus(one.counts)
    parts = [f"{counts} in {len(seen)} file{'s' if len(seen) != 1 else ''}"]
    for word in ("fixed", "ignored", "known"):
        number = sum(getattr(one, word) for one in seen)
        if number:
            parts.append(f"{number} {'in the baseline' if word == 'known' else word}")
    return ", ".join(parts)
