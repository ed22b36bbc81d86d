SELECT brand_id, domain, owner FROM {{ source('marts', 'dim_domain') }}
