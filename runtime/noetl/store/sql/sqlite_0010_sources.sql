-- Schema 10: the source that a plan was compiled from, for people to read: of errors and findings it has the lines.

CREATE TABLE sources (
  digest TEXT PRIMARY KEY REFERENCES plans (digest),
  data   BLOB NOT NULL
) WITHOUT ROWID;
