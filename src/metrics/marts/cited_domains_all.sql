-- All domains that responses cite, not only the 200 most cited: one row per brand, day, engine and domain.
-- column brand_id UUID: The brand.
-- column day DATE: The day (UTC).
-- column engine VARCHAR: Engine slug.
-- column domain VARCHAR: The cited domain.
-- column citations BIGINT: Citations of the domain; a page cited twice in one response counts twice.
-- column responses BIGINT: Responses that cite it.
SELECT brand_id, day, engine, domain, count(*) AS citations, count(DISTINCT response_id) AS responses
FROM mart.fct_citation WHERE domain IS NOT NULL
GROUP BY brand_id, day, engine, domain
