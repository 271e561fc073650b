-- Schema 14: schedules, and how far their times were dealt with.

-- `document` is JSON; `cursor` in microseconds since the epoch.
CREATE TABLE schedules (
  name     text COLLATE "C" PRIMARY KEY,
  document text NOT NULL,
  cursor   bigint NOT NULL,
  paused   bigint NOT NULL,
  last     text NOT NULL,
  trouble  text NOT NULL
);
