select
    brand_id,
    domain,
    date_trunc('month', day) as month,
    count(*) as citations,
    count(distinct response_id) as responses
from {{ source('marts', 'fct_citation') }}
where domain is not null
group by all
