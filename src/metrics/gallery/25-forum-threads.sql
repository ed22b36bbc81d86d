-- Which forum threads that engines cite could we join?
-- Threads that are new or saved and were cited, the most discussed first, with the rules of the forum.
-- tables: mart.fct_forum, mart.dim_brand
-- columns: brand, subforum, title, url, status, upvotes, comments, cited_at, promotion_policy, ai_content_policy
SELECT b.name AS brand, f.subforum, f.title, f.url, f.status, f.upvotes, f.comments, f.cited_at, f.promotion_policy,
  f.ai_content_policy
FROM mart.fct_forum f
JOIN mart.dim_brand b ON b.brand_id = f.brand_id
WHERE f.cited_at IS NOT NULL AND f.status IN ('new', 'saved')
ORDER BY f.comments DESC NULLS LAST, f.upvotes DESC NULLS LAST, brand, f.url
LIMIT 100
