-- Schema 5: when a request came, in microseconds since the epoch by the clock of the database; 0 of one that came before this schema.

ALTER TABLE inbox ADD COLUMN at bigint NOT NULL DEFAULT 0;
