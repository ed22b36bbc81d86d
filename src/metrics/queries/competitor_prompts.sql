-- Prompts of the selected responses by how often they mention a competitor and how often the brand: one row per prompt.
-- formula: change of visibility between two entities of the same responses. p is the mid-p value of McNemar's test over the responses
--   that mention one of the two, corrected for the number of prompts by Benjamini and Hochberg. The bounds are Wilson's (95 %).
-- source: McNemar, Q. (1947), Psychometrika 12:153-157; Fagerland, M. W. et al. (2013), BMC Med. Res. Methodol. 13:91.
-- parameter competitor_id UUID: The competitor.
-- column prompt_id UUID: The prompt.
-- column prompt VARCHAR: Text of the prompt.
-- column responses BIGINT: Selected responses.
-- column visibility DOUBLE: Share of the responses that mention the competitor, from 0 to 1.
-- column visibility_lower DOUBLE: Lower bound.
-- column visibility_upper DOUBLE: Upper bound.
-- column brand_visibility DOUBLE: Share of the responses that mention the brand, from 0 to 1.
-- column brand_lower DOUBLE: Lower bound.
-- column brand_upper DOUBLE: Upper bound.
-- column competitor_only BIGINT: Responses that mention the competitor and not the brand.
-- column brand_only BIGINT: Responses that mention the brand and not the competitor.
-- column lead DOUBLE: visibility less brand_visibility.
-- column p DOUBLE: Two-sided p value of the lead; null if no response mentions only one of the two.
-- column p_adjusted DOUBLE: p corrected for the number of prompts.
-- column winner VARCHAR: competitor or brand if p_adjusted is at most 0.05; null if chance explains the lead.
WITH rivals AS (
  SELECT DISTINCT response_id FROM main.response_competitors
  WHERE brand_id = $brand AND competitor_id = $competitor_id AND _deleted_at IS NULL
    AND in_days(created_at, $from, $to)
), counted AS (
  SELECT s.prompt_id, count(*) AS responses, mention_count(s.brand_mentioned) AS brand_mentions, count(r.response_id) AS mentions,
    count(*) FILTER (r.response_id IS NOT NULL AND NOT s.brand_mentioned) AS competitor_only,
    mention_count(r.response_id IS NULL AND s.brand_mentioned) AS brand_only
  FROM scope s LEFT JOIN rivals r USING (response_id) WHERE s.prompt_id IS NOT NULL GROUP BY s.prompt_id
), splits AS (
  SELECT DISTINCT competitor_only + brand_only AS m, greatest(competitor_only, brand_only) AS k FROM counted
  WHERE competitor_only + brand_only > 0
), tails AS (
  -- The binomial distribution with probability 1/2; the observed value counts half.
  SELECT m, k, least(1, 2 * sum(if(i = k, 0.5, 1) * exp(lgamma(m + 1) - lgamma(i + 1) - lgamma(m - i + 1) - m * ln(2)))) AS p
  FROM (SELECT m, k, unnest(range(k, m + 1)) AS i FROM splits) GROUP BY m, k
), tested AS (
  SELECT c.*, t.p, mentions / responses AS visibility, brand_mentions / responses AS brand_visibility,
    wilson_weight(responses) AS w,
    corrected_scale(t.p) AS scaled
  FROM counted c
  LEFT JOIN tails t ON t.m = c.competitor_only + c.brand_only AND t.k = greatest(c.competitor_only, c.brand_only)
), adjusted AS (
  SELECT *, corrected_p(p, scaled) AS p_adjusted FROM tested
), names AS (
  SELECT prompt_id, text FROM mart.dim_prompt WHERE brand_id = $brand
)
SELECT a.prompt_id, n.text AS prompt, a.responses, a.visibility,
  wilson_lower(visibility, w) AS visibility_lower,
  wilson_upper(visibility, w) AS visibility_upper,
  a.brand_visibility,
  wilson_lower(brand_visibility, w) AS brand_lower,
  wilson_upper(brand_visibility, w) AS brand_upper,
  a.competitor_only, a.brand_only, a.visibility - a.brand_visibility AS lead, a.p, a.p_adjusted,
  CASE WHEN p_adjusted <= 0.05 AND competitor_only > brand_only THEN 'competitor'
    WHEN p_adjusted <= 0.05 AND brand_only > competitor_only THEN 'brand' END AS winner
FROM adjusted a LEFT JOIN names n USING (prompt_id)
ORDER BY lead DESC, a.responses DESC, a.prompt_id
