-- Schema 8: the source that a plan was compiled from, for people to read: of errors and findings it has the lines.

CREATE TABLE sources (
  digest text COLLATE "C" PRIMARY KEY REFERENCES plans (digest),
  data   bytea NOT NULL
);
