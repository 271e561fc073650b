-- Schema 15: when a schedule began, in microseconds since the epoch: no time of before was its own.

ALTER TABLE schedules ADD COLUMN began bigint NOT NULL DEFAULT 0;
