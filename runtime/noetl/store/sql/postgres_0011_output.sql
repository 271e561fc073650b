-- Schema 11: what tasks print.

-- How many chunks of an execution there are, and how many bytes they have used of its limit.
CREATE TABLE output_totals (
  execution_id text COLLATE "C" PRIMARY KEY,
  chunks       bigint NOT NULL,
  used         bigint NOT NULL
);

-- `attempt` is JSON: step, run, indices, task, visit, attempt, claim. `starts` and `ends` are characters of the attempt's
-- output, `at` is in microseconds since the epoch.
CREATE TABLE output (
  execution_id text COLLATE "C" NOT NULL,
  number       bigint NOT NULL,
  attempt      text COLLATE "C" NOT NULL,
  stream       text NOT NULL,
  starts       bigint NOT NULL,
  ends         bigint NOT NULL,
  at           bigint NOT NULL,
  text         text NOT NULL,
  PRIMARY KEY (execution_id, number)
);

CREATE INDEX output_attempts ON output (execution_id, attempt, ends);
