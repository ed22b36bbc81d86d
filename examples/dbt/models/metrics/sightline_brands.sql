SELECT brand_id, name AS brand FROM {{ source('marts', 'dim_brand') }}
