-- Schema 7: the row of an execution knows the last signal in its inbox, so that it does not end while that is unread.

ALTER TABLE executions ADD COLUMN signalled bigint NOT NULL DEFAULT 0;

-- Asked within the statement that ends an execution, on the row as it is once its lock is there.
CREATE FUNCTION may_end(signalled bigint, unread_from bigint, ended bigint) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
  IF ended IS NOT NULL AND signalled > unread_from THEN
    RAISE EXCEPTION 'a signal is unread' USING ERRCODE = 'NT001';
  END IF;
  RETURN ended;
END $$;
