-- Schema 26: when a notification sent its last message, in microseconds since the epoch; 0 for never.

ALTER TABLE notifications ADD COLUMN told INTEGER NOT NULL DEFAULT 0;
