-- Schema 25: which times of a schedule were not started, and why: the last ones, as JSON.

ALTER TABLE schedules ADD COLUMN unstarted TEXT NOT NULL DEFAULT '[]';
