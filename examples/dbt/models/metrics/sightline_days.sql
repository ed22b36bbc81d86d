SELECT CAST(day AS TIMESTAMP) AS date_day FROM {{ source('marts', 'dim_date') }}
