-- Are we mentioned more often when our pages are cited?
-- Mention rate of responses with and without citations of own pages, per month over all engines. A difference does not
-- prove a cause.
-- tables: mart.mentioned_x_cited
-- columns: brand, month, responses, mention_rate_cited, mention_rate_not_cited, difference
SELECT brand_name AS brand, month, responses, mention_rate_cited, mention_rate_not_cited,
  mention_rate_cited - mention_rate_not_cited AS difference
FROM mart.mentioned_x_cited
WHERE scope = 'all engines'
ORDER BY brand, month DESC
