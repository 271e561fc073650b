-- Schema 23: what waits is found without a look at all else that waits.

CREATE INDEX trigger_ends_of ON trigger_ends (trigger_name, number);

CREATE INDEX trigger_ends_by_execution ON trigger_ends (execution_id, number);

CREATE INDEX outbox_dead ON outbox (number) WHERE dead = 1;
