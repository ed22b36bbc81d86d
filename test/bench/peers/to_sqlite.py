"""Copies responses with competitors and citations from a Parquet folder to an SQLite file with the indexes that pages and metrics need.

Usage: to_sqlite.py FOLDER FILE. FOLDER has responses.parquet, competitors.parquet and citations.parquet.
"""

import sqlite3
import sys

import duckdb

folder, file = sys.argv[1], sys.argv[2]
source = duckdb.connect()
target = sqlite3.connect(file)
target.execute("PRAGMA journal_mode = OFF")
target.execute("PRAGMA synchronous = OFF")
for table in ("responses", "competitors", "citations"):
    rows = source.execute(f"SELECT * FROM read_parquet('{folder}/{table}.parquet')")
    names = [column[0] for column in rows.description]
    target.execute(f"CREATE TABLE {table} ({', '.join(names)})")
    marks = ", ".join("?" for _ in names)
    while batch := rows.fetchmany(50_000):
        target.executemany(f"INSERT INTO {table} VALUES ({marks})", batch)
    target.commit()
target.execute("CREATE INDEX pages ON responses (brand_id, created_at DESC, id DESC)")
target.execute("CREATE INDEX own ON responses (brand_id, created_at, brand_mentioned, brand_position)")
target.execute("CREATE INDEX rivals ON competitors (brand_id, created_at, competitor_id, position)")
target.execute("CREATE INDEX of_response ON competitors (response_id, ordinal)")
target.execute("CREATE INDEX cited ON citations (response_id, ordinal)")
target.execute("ANALYZE")
target.commit()
