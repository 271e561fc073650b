-- Schema 4: the row of an execution knows how its log ends, so that one with its end cut off is seen; and which execution
-- was started with a key.

-- How many events there are, and the `chain` of the last one; null for an execution that nothing was written to since.
ALTER TABLE executions ADD COLUMN events INTEGER;

ALTER TABLE executions ADD COLUMN chain INTEGER;

-- `request` is a hash of what was asked for with the key.
CREATE TABLE starts (
  key          TEXT PRIMARY KEY,
  execution_id TEXT NOT NULL,
  request      TEXT NOT NULL
) WITHOUT ROWID;
