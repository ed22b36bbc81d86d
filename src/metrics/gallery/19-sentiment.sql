-- How is the tone of mentions developing?
-- Net sentiment and the share of negative mentions per month over all engines.
-- tables: mart.net_sentiment_monthly
-- columns: brand, month, labelled, positive, negative, net_sentiment, negative_share
SELECT brand_name AS brand, month, labelled, positive, negative, net_sentiment, negative / nullif(labelled, 0) AS negative_share
FROM mart.net_sentiment_monthly
WHERE scope = 'all engines'
ORDER BY brand, month DESC
