-- States that articles were in, over time: one row per article and stretch of time in one state.
-- formula: hours = until, or as_of while the state lasts, minus since. A state that comes back is a row of its own.
-- column brand_id UUID: The brand.
-- column article_id UUID: The article.
-- column status VARCHAR: The state.
-- column since TIMESTAMP: When it was first seen in the state (UTC).
-- column until TIMESTAMP: When it was found in another state, or gone (UTC); null while it is in it.
-- column as_of TIMESTAMP: When the list was last read (UTC): what lasts has lasted until then.
-- column hours DOUBLE: Time spent in the state so far, in hours.
-- column is_first BOOLEAN: Whether it is the first state that was seen; it may have begun before.
-- column next_status VARCHAR: The state it moved to; null while there is none.
-- column ended_by VARCHAR: change for another state, gone when it was no longer listed; null while it lasts.
SELECT brand_id, item_id AS article_id, status, since, until, as_of, hours, is_first, next_status, ended_by
FROM mart.list_states WHERE list = 'articles'
