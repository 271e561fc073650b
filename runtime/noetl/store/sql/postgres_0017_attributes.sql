-- Schema 17: what executions are found by: the code of their failure, labels and search attributes.

ALTER TABLE executions ADD COLUMN error text COLLATE "C";

CREATE INDEX executions_by_error ON executions (error) WHERE error IS NOT NULL;

-- `kind` is string, number, bool or time; `value` is the number of those that are no string, times in microseconds.
CREATE TABLE attributes (
  execution bigint NOT NULL,
  name      text COLLATE "C" NOT NULL,
  kind      text COLLATE "C" NOT NULL,
  text      text COLLATE "C" NOT NULL,
  value     double precision,
  PRIMARY KEY (execution, name)
);

CREATE INDEX attributes_by_text ON attributes (name, text, execution);

CREATE INDEX attributes_by_value ON attributes (name, value, execution) WHERE value IS NOT NULL;
