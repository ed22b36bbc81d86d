"""Mirrors a workspace with dlt: every list and report of the API into a DuckDB file, merged by id.

Usage: pipeline.py BASE_URL KEY FILE DAYS. Prints {"requests": ..., "responses": ...} as JSON.
"""

import datetime
import json
import os
import sys

os.environ.setdefault("RUNTIME__DLTHUB_TELEMETRY", "false")
os.environ.setdefault("RUNTIME__LOG_LEVEL", "CRITICAL")

import dlt  # noqa: E402
from dlt.sources.helpers import requests  # noqa: E402

base_url, key, file, days = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
session = requests.Client().session
session.headers["authorization"] = f"Bearer {key}"
counted = {"requests": 0}
today = datetime.datetime.now(datetime.timezone.utc).date()
first = (today - datetime.timedelta(days=days - 1)).isoformat()


def get(path, **query):
    counted["requests"] += 1
    response = session.get(f"{base_url}{path}", params=query)
    response.raise_for_status()
    return response.json()


def pages(path, **query):
    cursor = None
    while True:
        body = get(path, **query, **({"cursor": cursor} if cursor else {}))
        yield body["data"]
        cursor = body.get("nextCursor")
        if cursor is None:
            return


def items(path, **query):
    body = get(path, **query)
    return body["data"] if isinstance(body, dict) else body


@dlt.resource(primary_key="id", write_disposition="merge")
def brands():
    yield items("/brands")


def of_brand(name, path, primary_key=None, **query):
    """A list that is read once per brand: merged by its key, or replaced if it has none."""
    disposition = "replace" if primary_key is None else "merge"

    @dlt.transformer(data_from=brands, name=name, primary_key=primary_key, write_disposition=disposition)
    def resource(found):
        for brand in found:
            for page in pages(f"/brands/{brand['id']}/{path}", **query):
                yield [{**item, "brand_id": brand["id"]} for item in page]

    return resource


@dlt.source
def workspace():
    whole = {"from": first, "to": today.isoformat()}
    return [
        brands,
        of_brand("competitors", "competitors", "id"),
        of_brand("prompts", "prompts", "id", includePaused="true"),
        of_brand("responses", "responses", "id", limit=100, **whole),
        of_brand("alerts", "alerts", "id", limit=100),
        of_brand("articles", "articles", "id"),
        of_brand("forum_opportunities", "forum/opportunities", "id", limit=100),
        of_brand("metrics_daily", "metrics/daily", **whole),
        of_brand("metrics_prompts", "metrics/prompts", **whole),
        of_brand("cited_domains", "sources/domains", limit=200, **whole),
        of_brand("cited_urls", "sources/urls", limit=200, **whole),
    ]


pipeline = dlt.pipeline(
    "bench", destination=dlt.destinations.duckdb(file), dataset_name="workspace", pipelines_dir=f"{file}.state"
)
pipeline.run(workspace())
with pipeline.sql_client() as client:
    rows = client.execute_sql("SELECT count(*) FROM responses")
print(json.dumps({"requests": counted["requests"], "responses": rows[0][0]}))
