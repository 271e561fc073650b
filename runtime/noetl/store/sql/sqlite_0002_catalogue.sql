-- Schema 2: every version of a playbook path is kept, and lists are quick where there are many executions.

CREATE TABLE catalogue (
  path    TEXT NOT NULL,
  version INTEGER NOT NULL,
  digest  TEXT NOT NULL REFERENCES plans (digest),
  PRIMARY KEY (path, version)
) WITHOUT ROWID;

INSERT INTO catalogue SELECT path, 1, digest FROM plan_paths;

DROP TABLE plan_paths;

CREATE INDEX executions_by_time ON executions (started, number);

CREATE INDEX executions_open ON executions (parent_execution_id) WHERE ended IS NULL;
