-- Schema 3: the ids of the server's own events, `s` and the position, are not indexed: the primary key keeps them apart.
-- They are two thirds of a log, and lie far from the workers' ids in the index: a commit writes two pages fewer.

DROP INDEX events_once;

CREATE UNIQUE INDEX events_once ON events (key >> 32, event_id) WHERE event_id NOT GLOB 's[0-9]*';
