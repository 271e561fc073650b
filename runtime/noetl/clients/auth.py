"""The credential that a task's `auth` asks for: what the tools share (LANGUAGE §7).

`auth` is a name; or a mapping with the name as `credential` or `name`, or as `key` beside nothing but words that say
what kind of credential it is; or one such mapping under an alias; or the fields themselves.
"""

from noetl.ports import Env
from noetl_ir.expr import Json

_ABOUT = frozenset({"source", "tool", "type", "kind", "scope", "provider"})
"""Keys that say of which kind a credential is and where it lies, as older playbooks write them beside its `key`."""


def name_in(auth: Json) -> str | None:
    """The name of a credential; None where `auth` names none."""
    match auth:
        case str():
            return auth
        case {"credential": str() as name} | {"name": str() as name}:
            return name
        # Beside other words `key` is a field: `{username, key}` is a credential that is written out.
        case {"key": str() as name, **about} if about.keys() <= _ABOUT:
            return name
        case dict() if len(auth) == 1:
            (inner,) = auth.values()
            return name_in(inner) if isinstance(inner, dict) else None
        case int() | float() if not isinstance(auth, bool):
            return str(auth)
    return None


async def login_of(auth: Json, env: Env) -> dict[str, Json]:
    """The fields of the credential that `auth` names, else those that it is. Raises KeyError."""
    name = name_in(auth)
    if name is not None:
        return await env.credential(name)
    return auth if isinstance(auth, dict) else {}
