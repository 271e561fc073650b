-- Schema 16: when a schedule began, in microseconds since the epoch: no time of before was its own.

ALTER TABLE schedules ADD COLUMN began INTEGER NOT NULL DEFAULT 0;
