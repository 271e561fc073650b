-- Schema 12: executions that were purged, until nothing is left of them. Nothing else may be removed from the log.

CREATE TABLE purged (
  number       bigint PRIMARY KEY,
  execution_id text COLLATE "C" NOT NULL UNIQUE
);

CREATE INDEX starts_of ON starts (execution_id);

CREATE FUNCTION refuse_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM purged WHERE number = OLD.execution) THEN
    RAISE EXCEPTION 'the event log is append-only';
  END IF;
  RETURN OLD;
END $$;

CREATE FUNCTION refuse_execution() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM purged WHERE number = OLD.number) THEN
    RAISE EXCEPTION 'the event log is append-only';
  END IF;
  RETURN OLD;
END $$;

DROP TRIGGER events_never_change ON events;

CREATE TRIGGER events_never_change BEFORE UPDATE OR TRUNCATE ON events
  FOR EACH STATEMENT EXECUTE FUNCTION refuse();

CREATE TRIGGER events_never_go BEFORE DELETE ON events
  FOR EACH ROW EXECUTE FUNCTION refuse_event();

DROP TRIGGER executions_never_go ON executions;

CREATE TRIGGER executions_never_cut BEFORE TRUNCATE ON executions
  FOR EACH STATEMENT EXECUTE FUNCTION refuse();

CREATE TRIGGER executions_never_go BEFORE DELETE ON executions
  FOR EACH ROW EXECUTE FUNCTION refuse_execution();
