-- Schema 6: executions that were taken from an owner who stood still, and who has the right to write to them since. The
-- old owner may wake at any time, and its lock file tells it nothing before it looks.

CREATE TABLE taken (
  execution_id TEXT PRIMARY KEY,
  holder       INTEGER NOT NULL
) WITHOUT ROWID;
