-- Schema 6: places under keys, of which an execution has one before it begins. Rows of executions that are over count no more.

-- `root` is whose place it is; `above` a JSON list of the executions under whose places it runs.
CREATE TABLE places (
  number       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  key          text COLLATE "C" NOT NULL,
  execution_id text COLLATE "C" NOT NULL,
  root         text COLLATE "C" NOT NULL,
  placed       boolean NOT NULL,
  most         bigint NOT NULL,
  on_conflict  text NOT NULL,
  above        text NOT NULL,
  UNIQUE (execution_id, key)
);
