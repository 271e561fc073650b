-- Schema 19: what starts a playbook when something happens.

-- `document` and `templates` are JSON; `began` in microseconds since the epoch.
CREATE TABLE triggers (
  name      text PRIMARY KEY,
  kind      text NOT NULL,
  document  text NOT NULL,
  templates text NOT NULL,
  paused    INTEGER NOT NULL,
  last      text NOT NULL,
  trouble   text NOT NULL,
  began     INTEGER NOT NULL
);

-- Ends that a trigger has not dealt with. A row goes once its start is on disk.
CREATE TABLE trigger_ends (
  number       INTEGER PRIMARY KEY AUTOINCREMENT,
  trigger_name text NOT NULL,
  execution_id text NOT NULL,
  ended        INTEGER NOT NULL
);

CREATE TABLE trigger_letters (
  number       INTEGER PRIMARY KEY AUTOINCREMENT,
  trigger_name text NOT NULL,
  key          text NOT NULL UNIQUE,
  body         text NOT NULL,
  reason       text NOT NULL,
  at           INTEGER NOT NULL
);

CREATE INDEX trigger_letters_of ON trigger_letters (trigger_name, number);

-- In the transaction that ends an execution, whoever writes it. One that begins is put there as open, even where its first
-- turn ends it; one that is restored as over, and so comes to no end.
CREATE TRIGGER executions_end AFTER UPDATE OF ended ON executions
  WHEN OLD.ended IS NULL AND NEW.ended IS NOT NULL AND NEW.parent_execution_id IS NULL
  BEGIN
    INSERT INTO trigger_ends (trigger_name, execution_id, ended)
      SELECT name, NEW.execution_id, NEW.ended FROM triggers WHERE kind = 'after' AND paused = 0;
  END;
