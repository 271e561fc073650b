-- Schema 5: what only this store's servers know. By the key `claims` they tell reports of whom they gave an order from all others.

CREATE TABLE keys (
  name  TEXT PRIMARY KEY,
  value BLOB NOT NULL
) WITHOUT ROWID;

INSERT INTO keys VALUES ('claims', randomblob(32));
