-- Schema 19: what is to be told outside, and the ends of executions that it is about.

-- `body` is JSON; times in microseconds since the epoch.
CREATE TABLE outbox (
  number  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  topic   text COLLATE "C" NOT NULL,
  subject text COLLATE "C" NOT NULL,
  body    text NOT NULL,
  at      bigint NOT NULL,
  due     bigint NOT NULL,
  tries   bigint NOT NULL,
  trouble text NOT NULL,
  dead    bigint NOT NULL,
  UNIQUE (topic, subject)
);

CREATE INDEX outbox_due ON outbox (due) WHERE dead = 0;

-- The topics that have a row for each end; with `top` not for that of a child.
CREATE TABLE outbox_topics (
  topic text COLLATE "C" PRIMARY KEY,
  top   bigint NOT NULL
);

-- In the transaction that ends an execution, whoever writes it.
CREATE FUNCTION tell_end() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO outbox (topic, subject, body, at, due, tries, trouble, dead)
    SELECT topic, NEW.execution_id, 'null', NEW.ended, 0, 0, '', 0 FROM outbox_topics
    WHERE top = 0 OR NEW.parent_execution_id IS NULL
    ON CONFLICT (topic, subject) DO NOTHING;
  RETURN NULL;
END $$;

CREATE TRIGGER executions_told AFTER UPDATE OF ended ON executions
  FOR EACH ROW WHEN (OLD.ended IS NULL AND NEW.ended IS NOT NULL) EXECUTE FUNCTION tell_end();

-- One that is over in its first turn already has its events from the beginning; one that is restored has none yet.
CREATE TRIGGER executions_told_at_once AFTER INSERT ON executions
  FOR EACH ROW WHEN (NEW.ended IS NOT NULL AND NEW.events > 0) EXECUTE FUNCTION tell_end();
