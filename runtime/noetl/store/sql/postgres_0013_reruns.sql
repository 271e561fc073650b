-- Schema 13: the execution whose log another one begins with.

ALTER TABLE executions ADD COLUMN rerun_of text COLLATE "C";

CREATE INDEX executions_by_rerun ON executions (rerun_of) WHERE rerun_of IS NOT NULL;
