-- Schema 22: the paths of which versions are registered. Of these a plan that is only run is no version.

CREATE TABLE registered (
  path TEXT PRIMARY KEY
) WITHOUT ROWID;

-- Who registered and who only ran was not told apart before. A draft that becomes what a schedule starts is worse than
-- one that has to be registered.
INSERT INTO registered SELECT DISTINCT path FROM catalogue;
