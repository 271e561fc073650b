-- Schema 12: when a signal of the mailbox was posted, in microseconds since the epoch; 0 for those from before.

ALTER TABLE mail ADD COLUMN since INTEGER NOT NULL DEFAULT 0;
