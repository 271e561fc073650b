-- Schema 1: executions, their event logs, plans, inbox, owners and blobs, in a namespace of their own.
-- The whole file runs in one transaction, with the search path set to that namespace.
--
-- Text is escaped where it holds a NUL, which PostgreSQL's text cannot: `\0` stands for it and `\\` for a backslash.
-- Ids compare by their bytes.

CREATE TABLE migrations (
  version integer PRIMARY KEY,
  name    text NOT NULL
);

-- `number` stands for the execution in the log: small keys keep its indices small. The fill factor leaves room for the
-- next state of a row beside the last one.
CREATE TABLE executions (
  number              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  execution_id        text COLLATE "C" NOT NULL UNIQUE,
  playbook            text NOT NULL,
  plan_digest         text NOT NULL,
  status              text NOT NULL
    CHECK (status IN ('running', 'paused', 'completed', 'failed', 'cancelled', 'blocked')),
  parent_execution_id text COLLATE "C",
  started             bigint NOT NULL,  -- microseconds since the epoch
  ended               bigint
) WITH (fillfactor = 80);

CREATE INDEX executions_by_time ON executions (started, number);
CREATE INDEX executions_by_status ON executions (status);
CREATE INDEX executions_by_parent ON executions (parent_execution_id) WHERE parent_execution_id IS NOT NULL;
CREATE INDEX executions_open ON executions (started, number) WHERE ended IS NULL;

-- `chain` is the CRC-32 over event_id and body of this event and of all before it in its execution.
CREATE TABLE events (
  execution bigint NOT NULL,
  position  integer NOT NULL,
  event_id  text COLLATE "C" NOT NULL,
  body      bytea NOT NULL,
  chain     bigint NOT NULL,
  PRIMARY KEY (execution, position)
);

CREATE UNIQUE INDEX events_once ON events (execution, event_id);

-- For people with a SQL prompt.
CREATE VIEW log AS
  SELECT x.execution_id, e.position, e.event_id, e.body
  FROM events e JOIN executions x ON x.number = e.execution;

CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the event log is append-only';
END $$;

CREATE TRIGGER events_never_change BEFORE UPDATE OR DELETE OR TRUNCATE ON events
  FOR EACH STATEMENT EXECUTE FUNCTION refuse();

CREATE TRIGGER executions_never_go BEFORE DELETE OR TRUNCATE ON executions
  FOR EACH STATEMENT EXECUTE FUNCTION refuse();

CREATE TABLE plans (
  digest text COLLATE "C" PRIMARY KEY,
  data   bytea NOT NULL
);

CREATE TABLE catalogue (
  path    text COLLATE "C" NOT NULL,
  version integer NOT NULL,
  digest  text COLLATE "C" NOT NULL REFERENCES plans (digest),
  PRIMARY KEY (path, version)
);

-- Rows are numbered in the order in which they are committed: whoever adds one holds a lock until then.
-- `token` tells the repeat of a request whose answer was lost from a second request.
CREATE TABLE inbox (
  row       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  execution bigint NOT NULL REFERENCES executions (number),
  verb      text NOT NULL,
  body      text NOT NULL,  -- JSON
  token     uuid NOT NULL UNIQUE
);

CREATE INDEX inbox_of ON inbox (execution, row);

-- Who drives an execution. `holder` is a number that a live store has an advisory lock on, so that an owner which is
-- gone is known as such, however it went, and one lock serves all executions of an owner.
CREATE TABLE owners (
  execution_id text COLLATE "C" PRIMARY KEY,
  holder       integer NOT NULL,
  who          text NOT NULL
);

CREATE INDEX owners_by_holder ON owners (holder);

CREATE SEQUENCE holders AS integer CYCLE;

-- `folder` is the execution's id where that is plain, else a hash of it.
CREATE TABLE blobs (
  folder   text COLLATE "C" NOT NULL,
  checksum text COLLATE "C" NOT NULL,  -- SHA-256 of the data, in hex
  data     bytea NOT NULL,
  PRIMARY KEY (folder, checksum)
);

CREATE TRIGGER blobs_never_change BEFORE UPDATE OR TRUNCATE ON blobs
  FOR EACH STATEMENT EXECUTE FUNCTION refuse();
