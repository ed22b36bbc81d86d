-- Every page that answers cite, not only the 200 cited most: one row per brand, month, engine and page.
-- column brand_id UUID: The brand.
-- column month DATE: First day of the month (UTC).
-- column engine VARCHAR: Engine slug.
-- column url VARCHAR: The cited page.
-- column domain VARCHAR: The domain it had last.
-- column title VARCHAR: The title it had last.
-- column citations BIGINT: Citations of the page; one cited twice in one answer is two.
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
