-- Schema 7: when a request came, in microseconds since the epoch; 0 of one that came before this schema.

ALTER TABLE inbox ADD COLUMN at INTEGER NOT NULL DEFAULT 0;
