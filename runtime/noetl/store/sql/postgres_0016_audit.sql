-- Schema 16: who did what. A row is never changed, and goes only when it is older than what is kept.

CREATE TABLE audit (
  row     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at      bigint NOT NULL,  -- microseconds since the epoch
  who     text NOT NULL,
  via     text NOT NULL,
  address text NOT NULL,
  deed    text NOT NULL,
  subject text NOT NULL,
  outcome text NOT NULL,
  reason  text NOT NULL,
  once    text NOT NULL UNIQUE
);

CREATE INDEX audit_of ON audit (subject, row);

CREATE TABLE audit_kept (since bigint NOT NULL);

INSERT INTO audit_kept VALUES (0);

CREATE FUNCTION refuse_audit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    IF OLD.at < (SELECT since FROM audit_kept) THEN
      RETURN OLD;
    END IF;
  END IF;
  RAISE EXCEPTION 'the audit is append-only';
END $$;

CREATE TRIGGER audit_never_cut BEFORE TRUNCATE ON audit
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit();

CREATE TRIGGER audit_never_changes BEFORE UPDATE OR DELETE ON audit
  FOR EACH ROW EXECUTE FUNCTION refuse_audit();
