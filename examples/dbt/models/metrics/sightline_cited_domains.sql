SELECT r.response_id, r.brand_id, r.prompt_id, r.engine, r.day, c.domain, count(*) AS cited
FROM {{ source('marts', 'fct_response') }} r
JOIN {{ source('marts', 'fct_citation') }} c ON c.response_id = r.response_id
WHERE c.domain IS NOT NULL
GROUP BY ALL
