-- Which of our pages gained or lost citations?
-- Own pages with new, continued or dropped citations, by the difference between the last two periods of 28 days. Small
-- counts vary by chance.
-- tables: mart.own_pages
-- columns: brand, url, title, state, before_citations, recent_citations, difference, last_cited_at
SELECT brand_name AS brand, url, title, state, before_citations, recent_citations,
  recent_citations - before_citations AS difference, last_cited_at
FROM mart.own_pages
ORDER BY abs(difference) DESC, brand, url
LIMIT 200
