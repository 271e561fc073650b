-- Schema 8: places under keys, of which an execution has one before it begins. Rows of executions that are over count no more.

-- `root` is whose place it is; `above` a JSON list of the executions under whose places it runs.
CREATE TABLE places (
  number       INTEGER PRIMARY KEY AUTOINCREMENT,
  key          TEXT NOT NULL,
  execution_id TEXT NOT NULL,
  root         TEXT NOT NULL,
  placed       INTEGER NOT NULL,
  most         INTEGER NOT NULL,
  on_conflict  TEXT NOT NULL,
  above        TEXT NOT NULL,
  UNIQUE (execution_id, key)
);
