-- Schema 22: what waits is found without a look at all else that waits.

CREATE INDEX trigger_ends_of ON trigger_ends (trigger_name, number);

CREATE INDEX trigger_ends_by_execution ON trigger_ends (execution_id, number);

CREATE INDEX outbox_dead ON outbox (number) WHERE dead = 1;

-- All ends are due at once: with `due` alone all of them would be sorted for the first one.
DROP INDEX outbox_due;

CREATE INDEX outbox_due ON outbox (due, number) WHERE dead = 0;
