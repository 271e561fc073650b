"""Runs the playbooks that can run offline, and holds their outcomes against each other and what is known."""

import json
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from corpora.database import Database
from corpora.files import Corpus, File
from corpora.isolation import NoIsolation, again_inside, close_files, folder_inside, open_own, raise_loopback
from corpora.known import Known, known_of
from corpora.more_sites import NAMED, SITES, Site
from corpora.needs import lacking
from corpora.outcomes import Outcome
from corpora.running import Place, ran
from corpora.serving import served
from corpora.verdict import Run, told

_AT_ONCE = 2


class Asked(NamedTuple):
    """Options of the command line."""

    known: Path | None
    save: Path | None
    examples: int
    trusted: bool


def run_corpus(corpus: Corpus, asked: Asked) -> int:
    """Run what can run, and report; gives the exit code."""
    inside = folder_inside()
    if inside is not None or asked.trusted:
        with _folder(inside) as folder:
            return _reported(corpus, asked, folder, isolated=inside is not None)
    with _folder(None) as folder:
        try:
            # A process cannot put itself behind walls that it is already outside of: the whole program is started a
            # second time.
            code = again_inside(folder)
        except NoIsolation as problem:
            print(f"others' code runs only where it is isolated: {problem}; --trusted runs yours", file=sys.stderr)
            return 2
        if asked.save is not None and (folder / "saved.json").exists():
            shutil.copyfile(folder / "saved.json", asked.save)
        return code


@contextmanager
def _folder(folder: Path | None) -> Iterator[Path]:
    """The folder given, or a new one that is there for a while. Its name is short: sockets lie in it."""
    if folder is not None:
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="corpus-", dir="/var/tmp", ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o755)
        yield Path(name)


def _reported(corpus: Corpus, asked: Asked, folder: Path, *, isolated: bool) -> int:
    known = known_of(asked.known)
    if isolated:
        raise_loopback()
        corpus = corpus._replace(folder=open_own(folder, corpus.folder))
    (folder / "pg").mkdir()
    database = Database(folder / "pg")
    try:
        if isolated:
            close_files(folder)
        runs = _all(corpus, known, database, folder)
    finally:
        database.end()
    saved = json.dumps([run.as_json() for run in runs], ensure_ascii=False, indent=1)
    if isolated:
        # Inside nothing else can be written. Who started this copies the file to where it was asked for.
        (folder / "saved.json").write_text(saved, encoding="utf-8")
    elif asked.save is not None:
        asked.save.write_text(saved, encoding="utf-8")
    print("\n".join(told(runs, known, asked.examples)))
    return 0


def _all(corpus: Corpus, known: Known, database: Database, folder: Path) -> list[Run]:
    sites = sites_of(known)
    with served(sites) as port, ThreadPoolExecutor(_AT_ONCE) as threads:
        place = Place(corpus.folder, folder, port, frozenset(sites), database, known)

        def run(numbered: tuple[int, File]) -> Run:
            number, file = numbered
            expected = known.of(file)
            why = (expected.skip if expected else "") or lacking(file.data.decode("utf-8", "replace"), sites)
            if why:
                return Run(file, Outcome("offline", message=why), expected)
            done = Run(file, ran(place, file, f"r{number}", expected), expected)
            print(f"{number} {done.outcome.status} {file.name}", file=sys.stderr, flush=True)
            return done

        # In the order of the corpus, whichever ends first: two reports can be compared line by line.
        return list(threads.map(run, enumerate(corpus.playbooks)))


def sites_of(known: Known) -> Mapping[str, Site]:
    """All hosts that are answered for."""
    return {**SITES, **{host: NAMED[name] for host, name in known.hosts.items()}}
