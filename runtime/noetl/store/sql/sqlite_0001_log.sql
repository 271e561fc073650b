-- Schema 1: executions, their event logs, plans and inbox.
-- Statements end at a semicolon at the end of a line; each migration runs in one transaction.

-- "NoET": a database of anything else is refused.
PRAGMA application_id = 1315915092;

CREATE TABLE migrations (
  version INTEGER PRIMARY KEY,
  name    TEXT NOT NULL
);

-- `number` stands for the execution in the other tables: small keys keep their trees shallow.
CREATE TABLE executions (
  number              INTEGER PRIMARY KEY,
  execution_id        TEXT NOT NULL UNIQUE,
  playbook            TEXT NOT NULL,
  plan_digest         TEXT NOT NULL,
  status              TEXT NOT NULL
    CHECK (status IN ('running', 'paused', 'completed', 'failed', 'cancelled', 'blocked')),
  parent_execution_id TEXT,
  started             INTEGER NOT NULL,  -- microseconds since the epoch
  ended               INTEGER
);

-- The primary key is (execution, position) in one integer, number << 32 | position: the rows of an execution lie
-- together in the table itself, so that an append touches one page here and one in the index.
-- `chain` is the CRC-32 over event_id and body of this event and of all before it in its execution.
CREATE TABLE events (
  key      INTEGER PRIMARY KEY,
  event_id TEXT NOT NULL,
  body     BLOB NOT NULL,
  chain    INTEGER NOT NULL
);

CREATE UNIQUE INDEX events_once ON events (key >> 32, event_id);

-- For people with a SQL prompt.
CREATE VIEW log AS
  SELECT x.execution_id, e.key & 4294967295 AS position, e.event_id, e.body
  FROM events e JOIN executions x ON x.number = e.key >> 32;

CREATE TRIGGER events_never_change BEFORE UPDATE ON events
  BEGIN SELECT RAISE(ABORT, 'the event log is append-only'); END;

CREATE TRIGGER events_never_go BEFORE DELETE ON events
  BEGIN SELECT RAISE(ABORT, 'the event log is append-only'); END;

CREATE TRIGGER executions_never_go BEFORE DELETE ON executions
  WHEN EXISTS (SELECT 1 FROM events WHERE key > OLD.number << 32 AND key < (OLD.number + 1) << 32)
  BEGIN SELECT RAISE(ABORT, 'the event log is append-only'); END;

CREATE TABLE plans (
  digest TEXT PRIMARY KEY,
  data   BLOB NOT NULL
);

CREATE TABLE plan_paths (
  path   TEXT PRIMARY KEY,
  digest TEXT NOT NULL REFERENCES plans (digest)
);

-- AUTOINCREMENT: a row number is never used again, since events name it.
CREATE TABLE inbox (
  row       INTEGER PRIMARY KEY AUTOINCREMENT,
  execution INTEGER NOT NULL REFERENCES executions (number),
  verb      TEXT NOT NULL,
  body      TEXT NOT NULL  -- JSON
);

CREATE INDEX inbox_of ON inbox (execution, row);
