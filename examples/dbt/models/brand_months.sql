select
    brands.brand_id,
    brands.name as brand,
    date_trunc('month', responses.day) as month,
    count(*) as responses,
    count(*) filter (responses.brand_mentioned) as mentions,
    count(*) filter (responses.brand_mentioned) / count(*) as visibility
from {{ source('marts', 'fct_response') }} as responses
join {{ source('marts', 'dim_brand') }} as brands on brands.brand_id = responses.brand_id
group by all
