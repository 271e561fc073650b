-- Schema 17: who did what. A row is never changed, and goes only when it is older than what is kept.

CREATE TABLE audit (
  row     INTEGER PRIMARY KEY AUTOINCREMENT,
  at      INTEGER NOT NULL,  -- microseconds since the epoch
  who     TEXT NOT NULL,
  via     TEXT NOT NULL,
  address TEXT NOT NULL,
  deed    TEXT NOT NULL,
  subject TEXT NOT NULL,
  outcome TEXT NOT NULL,
  reason  TEXT NOT NULL,
  once    TEXT NOT NULL UNIQUE
);

CREATE INDEX audit_of ON audit (subject, row);

CREATE TABLE audit_kept (since INTEGER NOT NULL);

INSERT INTO audit_kept VALUES (0);

CREATE TRIGGER audit_never_changes BEFORE UPDATE ON audit
  BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;

CREATE TRIGGER audit_never_goes BEFORE DELETE ON audit
  WHEN OLD.at >= (SELECT since FROM audit_kept)
  BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
