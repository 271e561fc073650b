"""Credentials that documents name: whether they are kept beside the store, and how one is that is not."""

from noetl.ports.scopes import scope_now
from noetl.secrets.credentials import CredentialProblem, Credentials
from noetl.server.notifications.document import Recipient
from noetl.server.triggers.document import Webhook
from noetl_ir.expr import Json

_FIELDS = ("secret", "token", "password", "key")
"""The fields of a credential that may be the secret of a webhook where a document names none, the first one that there
is.
"""


def lacking(path: str, name: str, to_add: str = "") -> str:
    """A sentence where there is no credential of a name beside the store whose credentials are at `path`; empty where
    there is. `to_add` are the options by which one is added.
    """
    scope = scope_now()
    if not name or scope.paths or scope.pools:  # which ones there are is no affair of a team's token
        return ""
    try:
        if Credentials(path).type_of(name) is not None:
            return ""
    except CredentialProblem as problem:
        return str(problem)
    return f"there is no credential `{name}` here: `noetl credential add {name}{to_add}` beside each server keeps one"


def lacking_recipient(path: str, address: Recipient) -> str:
    """A sentence where the credential of a recipient is not there."""
    is_place = address.way != "mail" and not address.url
    return lacking(path, address.credential, " --secret url" if is_place else "")


def lacking_secret(path: str, webhook: Webhook) -> str:
    """A sentence where the credential of a webhook is not there."""
    return lacking(path, webhook.secret, f" --secret {webhook.field or 'secret'}")


def secret_of(path: str, webhook: Webhook) -> str:
    """The secret of a webhook. Raises CredentialProblem."""
    fields = Credentials(path).fields(webhook.secret)
    if fields is None:
        raise CredentialProblem(f"there is no credential `{webhook.secret}` beside the server's store")
    names = [webhook.field] if webhook.field else [name for name in (*_FIELDS, *fields) if name in fields]
    found: Json = fields.get(names[0]) if names else None
    if not isinstance(found, str) or not found:
        raise CredentialProblem(f"the credential `{webhook.secret}` has no text `{webhook.field or 'secret'}`")
    return found
