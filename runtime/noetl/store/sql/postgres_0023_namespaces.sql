-- Schema 23: namespaces of playbooks, with quotas.

-- `document` is JSON. A quota of 0 is none.
CREATE TABLE namespaces (
  name              text COLLATE "C" PRIMARY KEY,
  document          text NOT NULL,
  prefix            text COLLATE "C" NOT NULL UNIQUE,
  paused            bigint NOT NULL,
  weight            bigint NOT NULL,
  open_executions   bigint NOT NULL,
  starts_per_minute bigint NOT NULL,
  burst             bigint NOT NULL
);

-- The bucket of starts of each: what it held `at` a time, in parts of 60,000,000 for a start (microseconds of a minute).
CREATE TABLE namespace_starts (
  name  text COLLATE "C" PRIMARY KEY,
  parts bigint NOT NULL,
  at    bigint NOT NULL
);

-- What is open is counted below a prefix of paths.
CREATE INDEX executions_open_by_path ON executions (playbook COLLATE "C")
  WHERE ended IS NULL AND parent_execution_id IS NULL;
