-- Schema 13: executions that were purged, until nothing is left of them. Nothing else may be removed from the log.

CREATE TABLE purged (
  number       INTEGER PRIMARY KEY,
  execution_id TEXT NOT NULL UNIQUE
);

CREATE INDEX starts_of ON starts (execution_id);

CREATE INDEX executions_by_parent ON executions (parent_execution_id) WHERE parent_execution_id IS NOT NULL;

DROP TRIGGER events_never_go;

CREATE TRIGGER events_never_go BEFORE DELETE ON events
  WHEN NOT EXISTS (SELECT 1 FROM purged WHERE number = OLD.key >> 32)
  BEGIN SELECT RAISE(ABORT, 'the event log is append-only'); END;

DROP TRIGGER executions_never_go;

CREATE TRIGGER executions_never_go BEFORE DELETE ON executions
  WHEN NOT EXISTS (SELECT 1 FROM purged WHERE number = OLD.number)
  AND EXISTS (SELECT 1 FROM events WHERE key > OLD.number << 32 AND key < (OLD.number + 1) << 32)
  BEGIN SELECT RAISE(ABORT, 'the event log is append-only'); END;

-- The number of one that was purged is free for this table before its events are gone.
CREATE TRIGGER executions_numbered AFTER INSERT ON executions
  WHEN EXISTS (SELECT 1 FROM purged WHERE number = NEW.number)
  BEGIN SELECT RAISE(ABORT, 'the number of an execution that is being purged'); END;
