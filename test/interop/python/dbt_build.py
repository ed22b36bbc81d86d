"""Builds the example project of dbt on the replica, in a copy, and compares its table with the truth."""

import json
import os
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import duckdb

from report import Report, truth, world

PROJECT = Path(os.environ['INTEROP_EXAMPLES']) / 'dbt'
STATUSES = ('success', 'pass', 'no-op')
ENVIRONMENT = {**os.environ, 'SIGHTLINE_REPLICA': world['replica'], 'DBT_SEND_ANONYMOUS_USAGE_STATS': 'false'}

shutil.copytree(PROJECT, 'dbt', ignore=shutil.ignore_patterns('target', 'logs', '*.duckdb'))
os.chdir('dbt')


def dbt(*arguments):
    command = [Path(sys.executable).with_name('dbt'), '--quiet', *arguments, '--profiles-dir', '.']
    return subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False)


report = Report(f"{version('dbt-core')}, dbt-duckdb {version('dbt-duckdb')}, DuckDB {version('duckdb')}")
built = dbt('build')
report.equal('dbt build', lambda: (built.returncode, built.stdout[-300:]), (0, ''))
for node in json.loads(Path('target/run_results.json').read_text(encoding='utf-8'))['results']:
    message = '' if node['status'] in STATUSES else f"{node['status']}: {node['message']}"
    report.equal(node['unique_id'], lambda: message, '')
months = 'SELECT brand, sum(responses)::BIGINT, sum(mentions)::BIGINT FROM brand_months GROUP BY brand'
expected = sorted((brand['name'], brand['responses'], brand['mentioned']) for brand in truth['brands'])
with duckdb.connect('sightline_dbt.duckdb', read_only=True) as connection:
    report.equal('responses and mentions of each brand', lambda: sorted(connection.execute(months).fetchall()), expected)
report.equal('exposures', lambda: dbt('list', '--resource-type', 'exposure').stdout.split(), ['exposure:sightline_example.visibility_dashboard'])
report.write()
