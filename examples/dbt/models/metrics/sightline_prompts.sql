SELECT p.brand_id, p.prompt_id, p.text AS prompt,
  max(g.group_id) FILTER (g.group_by = 'topic') AS topic_id,
  max(g.name) FILTER (g.group_by = 'topic') AS topic,
  max(g.group_id) FILTER (g.group_by = 'funnelStage') AS funnel_stage,
  max(g.group_id) FILTER (g.group_by = 'branded') AS branded
FROM {{ source('marts', 'dim_prompt') }} p
LEFT JOIN {{ source('marts', 'dim_prompt_group') }} g ON g.brand_id = p.brand_id AND g.prompt_id = p.prompt_id
WHERE p.is_listed
GROUP BY ALL
