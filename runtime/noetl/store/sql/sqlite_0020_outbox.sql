-- Schema 20: what is to be told outside, and the ends of executions that it is about.

-- `body` is JSON; times in microseconds since the epoch.
CREATE TABLE outbox (
  number  INTEGER PRIMARY KEY AUTOINCREMENT,
  topic   TEXT NOT NULL,
  subject TEXT NOT NULL,
  body    TEXT NOT NULL,
  at      INTEGER NOT NULL,
  due     INTEGER NOT NULL,
  tries   INTEGER NOT NULL,
  trouble TEXT NOT NULL,
  dead    INTEGER NOT NULL,
  UNIQUE (topic, subject)
);

CREATE INDEX outbox_due ON outbox (due) WHERE dead = 0;

-- The topics that have a row for each end; with `top` not for that of a child.
CREATE TABLE outbox_topics (
  topic TEXT PRIMARY KEY,
  top   INTEGER NOT NULL
);

-- In the transaction that ends an execution, whoever writes it. One that begins is put there as open, even where its first
-- turn ends it; one that is restored as over, and so comes to no end.
CREATE TRIGGER executions_told AFTER UPDATE OF ended ON executions
  WHEN OLD.ended IS NULL AND NEW.ended IS NOT NULL
  BEGIN
    INSERT OR IGNORE INTO outbox (topic, subject, body, at, due, tries, trouble, dead)
      SELECT topic, NEW.execution_id, 'null', NEW.ended, 0, 0, '', 0 FROM outbox_topics
      WHERE top = 0 OR NEW.parent_execution_id IS NULL;
  END;
