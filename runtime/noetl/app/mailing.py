"""Mail about executions, over SMTP."""

from __future__ import annotations

import smtplib
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from email.errors import MessageError
from email.message import EmailMessage
from hashlib import sha256

from noetl.app.outbox_delivery import WITHIN
from noetl.ports import Fence
from noetl.server.notifications.deciding import sentence_of
from noetl.server.notifications.document import Recipient
from noetl_ir.expr import Json

_PORTS = {"starttls": 587, "tls": 465, "none": 25}


_CUT_EVERY = 0.5
"""Seconds between two tries to cut a connection: while it is made there is nothing yet to cut."""


class NotMailed(Exception):
    """A mail could not be sent; the text says why, and nothing secret."""


def mail_of(address: Recipient, sender: str, message: Mapping[str, Json], once: str) -> EmailMessage:
    """The mail about a message; one that is sent again has the same id. Raises NotMailed."""
    mail = EmailMessage()
    line = " ".join(_whole(sentence_of(message)).split())
    mail["Subject"] = f"{address.subject or 'NoETL'}: {line}"[:200]
    try:
        mail["From"] = sender
        is_address = len(mail["From"].addresses) == 1 and "@" in mail["From"].addresses[0].addr_spec.strip("@")
    except (ValueError, IndexError, MessageError):  # the parser of the library fails by any of them
        is_address = False
    if not is_address:
        raise NotMailed(f"the credential `{address.credential}`: `from` is no address of mail")
    mail["To"] = ", ".join(address.recipients)
    mail["Message-ID"] = f"<{sha256(once.encode()).hexdigest()[:32]}@noetl>"
    # Programs that answer by themselves leave such mail alone (RFC 3834).
    mail["Auto-Submitted"] = "auto-generated"
    rows = [_whole(f"{key}: {value}") for key, value in message.items() if value is not None]
    mail.set_content(_whole(sentence_of(message)) + "\n\n" + "\n".join(" ".join(row.split()) for row in rows) + "\n")
    return mail


def _whole(text: str) -> str:
    """A text without halves of characters, which code and message of a run may have and UTF-8 has not."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def send_mail(
    address: Recipient, fields: Mapping[str, Json], message: Mapping[str, Json], once: str, fence: Fence | None
) -> None:
    """Send a mail by the server that the fields of a credential name: `host`, `port`, `security` (`starttls`, `tls`,
    `none`), `username`, `password`, `from`. Raises NotMailed.
    """
    host, sender, security = fields.get("host"), fields.get("from"), fields.get("security", "starttls")
    if not isinstance(host, str) or not isinstance(sender, str) or security not in _PORTS:
        raise NotMailed(
            f"the credential `{address.credential}` has `host`, `from`, and `security` of {', '.join(_PORTS)}"
        )
    port = fields.get("port", _PORTS[str(security)])
    try:
        number = int(str(port))
        _check_address(host, number, fence)
        mail = mail_of(address, sender, message, once)
        context = ssl.create_default_context()
        begun = smtplib.SMTP_SSL(timeout=WITHIN, context=context) if security == "tls" else smtplib.SMTP(timeout=WITHIN)
        with _cut_in_time(begun), begun as server:
            server.connect(host, number)
            if security == "starttls":
                server.starttls(context=context)
            user, password = fields.get("username"), fields.get("password")
            if isinstance(user, str) and isinstance(password, str):
                server.login(user, password)
            server.send_message(mail)
    except smtplib.SMTPResponseException as problem:
        # Its text is the server's, which may say back what it was sent.
        raise NotMailed(f"the mail server refuses it ({problem.smtp_code})") from None
    except (smtplib.SMTPException, OSError, ValueError) as problem:
        raise NotMailed(f"the mail server cannot be used ({type(problem).__name__})") from None


@contextmanager
def _cut_in_time(server: smtplib.SMTP) -> Iterator[None]:
    """Cut the connection of a server after `WITHIN`: its own limit is that of each read, and a server may send a byte
    at a time.
    """
    done = threading.Event()

    def cut() -> None:
        if done.wait(WITHIN):
            return
        while True:
            if (connection := server.sock) is not None:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
            if done.wait(_CUT_EVERY):
                return

    threading.Thread(target=cut, name="noetl-mail", daemon=True).start()
    try:
        yield
    finally:
        done.set()


def _check_address(host: str, port: int, fence: Fence | None) -> None:
    """Raises NotMailed where the fence keeps this process from one of the addresses of a host."""
    if fence is None:
        return
    for *_, where in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        if (why := fence(str(where[0]))) is not None:
            raise NotMailed(f"the mail server is not to be connected to: {why}")
