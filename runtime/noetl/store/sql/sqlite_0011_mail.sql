-- Schema 11: the mailbox: signals for whoever waits under a key, and the waits that are open.

-- `execution_id` and `row` say to whom a signal was addressed, and by which row of the inbox; null while it is kept.
-- `tries` is how often it came back. `data` is JSON, `until` in microseconds since the epoch.
CREATE TABLE mail (
  number       INTEGER PRIMARY KEY AUTOINCREMENT,
  key          TEXT NOT NULL,
  name         TEXT NOT NULL,
  data         TEXT NOT NULL,
  until        INTEGER NOT NULL,
  once         TEXT NOT NULL UNIQUE,
  tries        INTEGER NOT NULL DEFAULT 0,
  execution_id TEXT,
  row          INTEGER
);

CREATE INDEX mail_kept ON mail (key, number) WHERE row IS NULL;

CREATE INDEX mail_due ON mail (until) WHERE row IS NULL;

CREATE INDEX mail_addressed ON mail (execution_id, row) WHERE row IS NOT NULL;

-- A row for each name that a wait listens for; `row` is that of the inbox which answered it, null while it is open.
CREATE TABLE mail_waits (
  number       INTEGER PRIMARY KEY AUTOINCREMENT,
  key          TEXT NOT NULL,
  name         TEXT NOT NULL,
  execution_id TEXT NOT NULL,
  call         TEXT NOT NULL,
  row          INTEGER
);

CREATE INDEX mail_open ON mail_waits (key, number) WHERE row IS NULL;

CREATE INDEX mail_calls ON mail_waits (execution_id, call);
