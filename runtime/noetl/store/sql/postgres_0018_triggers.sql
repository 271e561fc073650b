-- Schema 18: what starts a playbook when something happens.

-- `document` and `templates` are JSON; `began` in microseconds since the epoch.
CREATE TABLE triggers (
  name      text COLLATE "C" PRIMARY KEY,
  kind      text NOT NULL,
  document  text NOT NULL,
  templates text NOT NULL,
  paused    bigint NOT NULL,
  last      text NOT NULL,
  trouble   text NOT NULL,
  began     bigint NOT NULL
);

-- Ends that a trigger has not dealt with. A row goes once its start is on disk.
CREATE TABLE trigger_ends (
  number       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  trigger_name text COLLATE "C" NOT NULL,
  execution_id text COLLATE "C" NOT NULL,
  ended        bigint NOT NULL
);

CREATE TABLE trigger_letters (
  number       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  trigger_name text COLLATE "C" NOT NULL,
  key          text COLLATE "C" NOT NULL UNIQUE,
  body         text NOT NULL,
  reason       text NOT NULL,
  at           bigint NOT NULL
);

CREATE INDEX trigger_letters_of ON trigger_letters (trigger_name, number);

CREATE FUNCTION keep_end() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO trigger_ends (trigger_name, execution_id, ended)
    SELECT name, NEW.execution_id, NEW.ended FROM triggers WHERE kind = 'after' AND paused = 0;
  RETURN NULL;
END $$;

-- In the transaction that ends an execution, whoever writes it. One that is restored is put there as over.
CREATE TRIGGER executions_end AFTER UPDATE OF ended ON executions FOR EACH ROW
  WHEN (OLD.ended IS NULL AND NEW.ended IS NOT NULL AND NEW.parent_execution_id IS NULL)
  EXECUTE FUNCTION keep_end();

-- One that is over in its first turn already has its events from the beginning; one that is restored has none yet.
CREATE TRIGGER executions_end_at_once AFTER INSERT ON executions FOR EACH ROW
  WHEN (NEW.ended IS NOT NULL AND NEW.events > 0 AND NEW.parent_execution_id IS NULL)
  EXECUTE FUNCTION keep_end();
