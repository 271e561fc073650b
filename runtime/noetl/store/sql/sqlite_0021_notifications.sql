-- Schema 21: who is to be told of ends, and what was told.

-- `document` and `body` are JSON; `began` in microseconds since the epoch.
CREATE TABLE notifications (
  name     TEXT PRIMARY KEY,
  document TEXT NOT NULL,
  paused   INTEGER NOT NULL,
  began    INTEGER NOT NULL
);

CREATE TABLE notified (
  name    TEXT NOT NULL,
  subject TEXT NOT NULL,
  body    TEXT NOT NULL,
  PRIMARY KEY (name, subject)
) WITHOUT ROWID;
