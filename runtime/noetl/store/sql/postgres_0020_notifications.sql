-- Schema 20: who is to be told of ends, and what was told.

-- `document` and `body` are JSON; `began` in microseconds since the epoch.
CREATE TABLE notifications (
  name     text COLLATE "C" PRIMARY KEY,
  document text NOT NULL,
  paused   bigint NOT NULL,
  began    bigint NOT NULL
);

CREATE TABLE notified (
  name    text COLLATE "C" NOT NULL,
  subject text COLLATE "C" NOT NULL,
  body    text NOT NULL,
  PRIMARY KEY (name, subject)
);
