"""The secrets of an execution for who looks at it afterwards: what of its log has them in clear is hidden then."""

from noetl.app.runtime import Runtime
from noetl.app.secret_resolver import SecretResolver
from noetl.app.snapshots import Snapshot


def secrets_here(runtime: Runtime, snapshot: Snapshot) -> SecretResolver:
    """The secrets of an execution as far as this machine has them."""
    settings = runtime.settings
    return SecretResolver(
        snapshot.program, snapshot.row.execution_id, snapshot.execution.workload,
        path=runtime.secrets_path, root=str(settings.root), fence=settings.fence, only=settings.secrets,
    )  # fmt: skip
