-- States of forum threads over time: one row per thread and period in one state.
-- formula: hours = until - since, or as_of - since while the state lasts. A state that recurs has several rows.
-- column brand_id UUID: The brand.
-- column opportunity_id UUID: The thread.
-- column status VARCHAR: The state.
-- column since TIMESTAMPTZ: When a sync first saw the item in the state (UTC).
-- column until TIMESTAMPTZ: When a sync found the item in another state or no longer listed (UTC); null while the state lasts.
-- column as_of TIMESTAMPTZ: When the list was last synced (UTC); open states are counted until then.
-- column hours DOUBLE: Time spent in the state so far, in hours.
-- column is_first BOOLEAN: Whether it is the first state seen; it may have begun earlier.
-- column next_status VARCHAR: The next state; null if there is none.
-- column ended_by VARCHAR: change if another state followed, gone if the item is no longer listed; null while the state lasts.
SELECT brand_id, item_id AS opportunity_id, status, since, until, as_of, hours, is_first, next_status, ended_by
FROM mart.list_states WHERE list = 'forum_opportunities'
