-- Schema 18: what executions are found by: the code of their failure, labels and search attributes.

ALTER TABLE executions ADD COLUMN error TEXT;

CREATE INDEX executions_by_error ON executions (error) WHERE error IS NOT NULL;

-- `kind` is string, number, bool or time; `value` is the number of those that are no string, times in microseconds.
CREATE TABLE attributes (
  execution INTEGER NOT NULL,
  name      TEXT NOT NULL,
  kind      TEXT NOT NULL,
  text      TEXT NOT NULL,
  value     REAL,
  PRIMARY KEY (execution, name)
) WITHOUT ROWID;

CREATE INDEX attributes_by_text ON attributes (name, text, execution);

CREATE INDEX attributes_by_value ON attributes (name, value, execution) WHERE value IS NOT NULL;
