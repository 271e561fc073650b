"""The fields of keychain entries that are no secrets, and those of tasks that name an entry."""

# A host or a user hidden in logs and errors would take away what one needs to find a fault, and protect nothing.
PUBLIC = frozenset(
    {"host", "hostaddr", "db_host", "port", "db_port", "user", "username", "db_user", "database", "dbname"}
    | {"db_name", "schema", "sslmode", "options", "header", "type", "account", "warehouse", "role", "region"}
    | {"project", "project_id", "scope"}
)
"""Fields that are no secret, whatever the kind; every other text is one."""
NAMING = frozenset({"auth", "credential", "secret", "secret_name"})
"""Fields of a task that name an entry of the keychain."""
ADDRESSES = frozenset({"url", "uri", "dsn", "endpoint", "base_url", "token_url"})
"""Fields that are secret only when they hold a password."""
SHORTEST = 8
"""Characters of the shortest secret that is hidden."""
