-- A response as it is stored: one row, or none if it is unknown. It may be deleted.
-- parameter id UUID: The response.
-- column response_id UUID: The response.
-- column brand_id UUID: The brand.
-- column brand VARCHAR: Name of the brand.
-- column prompt_id UUID: The prompt.
-- column prompt VARCHAR: Text of the prompt, as upstream sent it with the response.
-- column engine VARCHAR: Engine slug.
-- column created_at TIMESTAMPTZ: When the engine responded (UTC).
-- column brand_mentioned BOOLEAN: Whether the response mentions the brand.
-- column synced_at TIMESTAMPTZ: When upstream sent the stored version (UTC).
-- column deleted_at TIMESTAMPTZ: When a sync first found the response missing upstream (UTC); null if it is listed.
-- column run_id UUID: The sync run that wrote the stored version.
-- column run_started_at TIMESTAMPTZ: When that run began (UTC); null if its record is no longer kept.
-- column topic_then VARCHAR: Topic of the prompt at the time of the response.
-- column topic_now VARCHAR: Current topic of the prompt.
-- column tags_then JSON: Names of its tags at the time of the response.
-- column tags_now JSON: Names of its current tags.
-- column item JSON: The response as /v1 serves it.
-- column cursor VARCHAR: Position of the response in response_list.
WITH one AS (
  SELECT * FROM main.responses WHERE id = $id AND brand_id IN $brands
), entities AS (
  SELECT list({competitorId: competitor_id, name: name, position: position, sentiment: sentiment} ORDER BY ordinal) AS items
  FROM main.response_competitors
  WHERE response_id = $id AND brand_id IN $brands
    AND created_at IS NOT DISTINCT FROM (SELECT created_at FROM one)
    AND (_deleted_at IS NULL OR (SELECT _deleted_at FROM one) IS NOT NULL)
), pages AS (
  SELECT list({url: url, domain: domain, title: title, position: position} ORDER BY ordinal) AS items
  FROM main.response_citations
  WHERE response_id = $id AND brand_id IN $brands
    AND created_at IS NOT DISTINCT FROM (SELECT created_at FROM one)
    AND (_deleted_at IS NULL OR (SELECT _deleted_at FROM one) IS NOT NULL)
), times AS (
  -- As many digits of a second as upstream writes.
  SELECT strftime(timezone('UTC', created_at), '%Y-%m-%dT%H:%M:%S') AS second,
    rtrim(strftime(timezone('UTC', created_at), '%f'), '0') AS digits,
    coalesce((SELECT CAST(value AS BIGINT) FROM sync.shapes WHERE resource = 'responses' AND name = 'time digits'), 3) AS digits_min
  FROM one
), items AS (
  SELECT CAST(to_json({
    id: o.id,
    promptId: o.prompt_id,
    prompt: o.prompt,
    engine: o.engine,
    createdAt: t.second || if(t.digits = '' AND t.digits_min = 0, '', '.')
      || rpad(t.digits, CAST(greatest(length(t.digits), t.digits_min) AS INTEGER), '0') || 'Z',
    brandMentioned: o.brand_mentioned,
    brandPosition: o.brand_position,
    brandSentiment: o.brand_sentiment,
    competitors: coalesce((SELECT items FROM entities), []),
    citations: coalesce((SELECT items FROM pages), [])
  }) AS VARCHAR) AS declared, nullif(CAST(o._extra AS VARCHAR), '{}') AS undeclared
  FROM one o, times t
), groups_then AS (
  SELECT h.group_by, h.group_id, h.name
  FROM mart.dim_prompt_group_history h
  JOIN one o ON o.brand_id = h.brand_id AND o.prompt_id = h.prompt_id
    AND (h.applies_from IS NULL OR o.created_at >= h.applies_from) AND (h.applies_to IS NULL OR o.created_at < h.applies_to)
), groups_now AS (
  SELECT g.group_by, g.group_id, g.name
  FROM mart.dim_prompt_group g JOIN one o ON o.brand_id = g.brand_id AND o.prompt_id = g.prompt_id
)
SELECT
  o.id AS response_id,
  o.brand_id,
  b.name AS brand,
  o.prompt_id,
  o.prompt,
  o.engine,
  o.created_at,
  o.brand_mentioned,
  o._synced_at AS synced_at,
  o._deleted_at AS deleted_at,
  o._run_id AS run_id,
  r.started_at AS run_started_at,
  (SELECT any_value(name) FROM groups_then WHERE group_by = 'topic') AS topic_then,
  (SELECT any_value(name) FROM groups_now WHERE group_by = 'topic') AS topic_now,
  to_json(coalesce((SELECT list(name ORDER BY name) FROM groups_then WHERE group_by = 'tag'), CAST([] AS VARCHAR[]))) AS tags_then,
  to_json(coalesce((SELECT list(name ORDER BY name) FROM groups_now WHERE group_by = 'tag'), CAST([] AS VARCHAR[]))) AS tags_now,
  CAST(if(i.undeclared IS NULL, i.declared, left(i.declared, -1) || ',' || substr(i.undeclared, 2)) AS JSON) AS item,
  epoch_us(o.created_at) || '_' || o.id AS cursor
FROM one o
CROSS JOIN items i
LEFT JOIN main.brands b ON b.id = o.brand_id
LEFT JOIN sync.runs r ON r.run_id = o._run_id
