-- Schema 4: that holders do not stand still. One counts on every few seconds as long as its process runs; one that does
-- not is taken for dead, also while the lock of its connection is there. After a crash of the database the locks say all.

CREATE UNLOGGED TABLE beats (
  holder  integer PRIMARY KEY,
  beat    bigint NOT NULL,
  renewed timestamptz NOT NULL
);
