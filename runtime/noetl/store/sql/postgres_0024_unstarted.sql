-- Schema 24: which times of a schedule were not started, and why: the last ones, as JSON.

ALTER TABLE schedules ADD COLUMN unstarted text NOT NULL DEFAULT '[]';
