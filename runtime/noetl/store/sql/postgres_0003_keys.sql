-- Schema 3: what only this store's servers know. By the key `claims` they tell reports of whom they gave an order from all others.

CREATE TABLE keys (
  name  text COLLATE "C" PRIMARY KEY,
  value bytea NOT NULL
);
