-- Schema 15: schedules, and how far their times were dealt with.

-- `document` is JSON; `cursor` in microseconds since the epoch.
CREATE TABLE schedules (
  name     text PRIMARY KEY,
  document text NOT NULL,
  cursor   INTEGER NOT NULL,
  paused   INTEGER NOT NULL,
  last     text NOT NULL,
  trouble  text NOT NULL
);
