"""Which fields of a keychain entry are no secrets: what workers hide and what the compiler knows to be hidden."""

# A host or a user hidden in logs and errors would take away what one needs to find a fault, and protect nothing.
PUBLIC = frozenset(
    {"host", "hostaddr", "db_host", "port", "db_port", "user", "username", "db_user", "database", "dbname"}
    | {"db_name", "schema", "sslmode", "options", "header", "type", "account", "warehouse", "role", "region"}
    | {"project", "project_id", "scope"}
)
"""Fields that are no secret, whatever the kind; every other text is one."""
ADDRESSES = frozenset({"url", "uri", "dsn", "endpoint", "base_url", "token_url"})
"""Fields that are secret only when they hold a password."""
SHORTEST = 8
"""Characters of the shortest secret that is hidden."""
