-- How is the share of voice divided on each engine?
-- Share of voice of the brand and its competitors in the last complete 4 weeks, per engine.
-- tables: mart.mentions_daily, mart.periods
-- columns: brand, engine, entity_type, entity, mentions, share_of_voice
SELECT m.brand_name AS brand, m.engine, m.entity_type, coalesce(m.competitor_name, m.brand_name) AS entity,
  CAST(sum(m.mentions) AS BIGINT) AS mentions,
  sum(m.mentions) / sum(sum(m.mentions)) OVER (PARTITION BY m.brand_id, m.engine) AS share_of_voice
FROM mart.mentions_daily m
JOIN mart.periods p ON p.brand_id = m.brand_id AND m.day BETWEEN p.recent_from AND p.anchor_day
GROUP BY m.brand_id, m.brand_name, m.engine, m.entity_type, entity
ORDER BY brand, engine, share_of_voice DESC, entity
