-- Schema 21: the paths of which versions are registered. Of these a plan that is only run is no version.

CREATE TABLE registered (
  path text COLLATE "C" PRIMARY KEY
);
