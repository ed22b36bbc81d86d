-- All pages that responses cite, not only the 200 most cited: one row per brand, month, engine and page.
-- column brand_id UUID: The brand.
-- column month DATE: First day of the month (UTC).
-- column engine VARCHAR: Engine slug.
-- column url VARCHAR: The cited page.
-- column domain VARCHAR: Its latest domain.
-- column title VARCHAR: Its latest title.
-- column citations BIGINT: Citations of the page; a page cited twice in one response counts twice.
SELECT
  brand_id,
  CAST(date_trunc('month', day) AS DATE) AS month,
  engine,
  url,
  arg_max(domain, created_at) AS domain,
  arg_max(title, created_at) AS title,
  count(*) AS citations
FROM mart.fct_citation WHERE url IS NOT NULL
GROUP BY ALL
