-- Returns a row, and so fails, if the months have another number of responses than the replica.
with months as (select sum(responses) as responses from {{ ref('brand_months') }}),

replica as (
    select count(*) as responses
    from {{ source('sightline', 'responses') }}
    where _deleted_at is null and created_at is not null
)

select months.responses, replica.responses as in_replica
from months, replica
where months.responses is distinct from replica.responses
