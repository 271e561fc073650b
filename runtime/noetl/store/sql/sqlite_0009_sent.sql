-- Schema 9: the row of an execution knows the last signal in its inbox, so that it does not end while that is unread; and
-- what is sent once only has a name.

ALTER TABLE executions ADD COLUMN signalled INTEGER NOT NULL DEFAULT 0;

ALTER TABLE inbox ADD COLUMN once TEXT;

CREATE UNIQUE INDEX inbox_once ON inbox (once) WHERE once IS NOT NULL;
