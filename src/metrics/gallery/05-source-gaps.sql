-- Which domains are cited when competitors are mentioned and we are not?
-- Domains by the number of responses of the last 28 days that cite them and mention a competitor, but not the brand.
-- Candidates for outreach.
-- tables: mart.source_gaps
-- columns: brand, domain, owner, gap_responses, share, mentioning_responses
SELECT brand_name AS brand, domain, owner, gap_responses, share, mentioning_responses
FROM mart.source_gaps
WHERE scope = 'all engines'
ORDER BY gap_responses DESC, brand, domain
LIMIT 100
