"""Scopes: the playbooks that somebody may see and ask for, by the beginnings of their paths, and where they may run.

A prefix ends with a slash and fits every path below it; any other text fits the playbook of exactly that path. So
`team-a/` never fits `team-ab/x`, and `team-a` neither. Without a prefix everything fits.

The scope of whoever asks is said by the context of a thread, as is who that is (`noetl.ports.actors`): what shows names
is far from who knows the token. What servers and engines do by themselves has none.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from noetl_ir.correlation import is_storable

if TYPE_CHECKING:
    from noetl.ports.queries import Condition

LONGEST = 512
"""The most characters of a prefix or of the name of a pool."""

MOST = 100
"""The most prefixes or pools of a token: each is a part of the condition of each list."""


def is_within(path: str, prefixes: Sequence[str]) -> bool:
    """Whether a playbook path is one of a scope."""
    return not prefixes or any(path.startswith(each) if each.endswith("/") else path == each for each in prefixes)


def is_pattern_within(pattern: str, prefixes: Sequence[str]) -> bool:
    """Whether each path that a pattern of `fnmatch` fits is one of a scope, as far as its plain beginning tells."""
    signs = [at for at in (pattern.find(sign) for sign in "*?[") if at >= 0]
    if not signs:
        return is_within(pattern, prefixes)
    head = pattern[: min(signs)]
    return not prefixes or any(each.endswith("/") and head.startswith(each) for each in prefixes)


def condition_within(prefixes: Sequence[str]) -> "Condition":
    """The condition that the playbook of an execution is one of a scope, which has a prefix at least."""
    from noetl.ports.queries import Junction, QueryTerm, pattern_for

    patterns = [pattern_for(each) + "*" * each.endswith("/") for each in prefixes]
    return Junction(tuple([QueryTerm("playbook", "=", each) for each in patterns]), any_of=True)


class TokenScope:
    """The scope of a token: playbooks by prefixes of their `paths`, and `pools` for their steps; empty for all.

    `works`: somebody who carries out the steps of these pools, and starts nothing. `is_heeded` says whether it was
    looked at since it was made: what shows much at once has to.
    """

    def __init__(self, paths: Sequence[str] = (), pools: Sequence[str] = (), *, works: bool = False) -> None:
        self._paths = tuple(paths)
        self._pools = tuple(pools)
        self.works = works
        self.is_heeded = False

    @property
    def paths(self) -> tuple[str, ...]:
        """Prefixes of playbook paths."""
        self.is_heeded = True
        return self._paths

    @property
    def pools(self) -> tuple[str, ...]:
        """Pools by name."""
        self.is_heeded = True
        return self._pools


_EVERYTHING = TokenScope()
_scope: ContextVar[TokenScope] = ContextVar("noetl_scope", default=_EVERYTHING)


@contextmanager
def keeping_to(scope: TokenScope) -> Iterator[None]:
    """Meanwhile this context has a scope."""
    token = _scope.set(scope)
    try:
        yield
    finally:
        _scope.reset(token)


def scope_now() -> TokenScope:
    """The scope of this context."""
    return _scope.get()


def path_trouble(text: str) -> str:
    """Why a text can be no prefix of playbook paths, in words; empty where it can."""
    if text.startswith("/") or not text.strip("/"):
        return f"`{text}` is no beginning of a playbook path: write `team-a/`, or the whole path of one"
    if "*" in text or "?" in text:
        return f"`{text}` is no pattern: `team-a/` is all playbooks below it"
    return _text_trouble(text)


def pool_trouble(text: str) -> str:
    """Why a text can be no name of a pool, in words; empty where it can."""
    return _text_trouble(text) if text else "the name of a pool is missing"


def _text_trouble(text: str) -> str:
    if len(text) > LONGEST:
        return f"`{text[:40]}…` has more than {LONGEST} characters"
    return "" if text.isprintable() and is_storable(text) else "there is a character in it that cannot be shown"
