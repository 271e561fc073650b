-- Schema 24: namespaces of playbooks, with quotas.

-- `document` is JSON. A quota of 0 is none.
CREATE TABLE namespaces (
  name              TEXT PRIMARY KEY,
  document          TEXT NOT NULL,
  prefix            TEXT NOT NULL UNIQUE,
  paused            INTEGER NOT NULL,
  weight            INTEGER NOT NULL,
  open_executions   INTEGER NOT NULL,
  starts_per_minute INTEGER NOT NULL,
  burst             INTEGER NOT NULL
);

-- The bucket of starts of each: what it held `at` a time, in parts of 60,000,000 for a start (microseconds of a minute).
CREATE TABLE namespace_starts (
  name  TEXT PRIMARY KEY,
  parts INTEGER NOT NULL,
  at    INTEGER NOT NULL
) WITHOUT ROWID;

-- What is open is counted below a prefix of paths.
DROP INDEX executions_open;

CREATE INDEX executions_open ON executions (parent_execution_id, playbook) WHERE ended IS NULL;
