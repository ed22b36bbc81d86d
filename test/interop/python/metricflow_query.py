"""Parses the semantic models of the example project of dbt with MetricFlow, and compares its queries with `sightline metrics query`."""

import csv
import json
import math
import os
import shutil
import subprocess
import sys
from datetime import date, timedelta
from importlib.metadata import version
from pathlib import Path

from report import Report, truth, world

PROJECT = Path(os.environ['INTEROP_EXAMPLES']) / 'dbt'
ENVIRONMENT = {
    **os.environ,
    'SIGHTLINE_REPLICA': world['replica'],
    'DBT_SEND_ANONYMOUS_USAGE_STATS': 'false',
    'DBT_PROFILES_DIR': '.',
}
CUT = date.fromisoformat(truth['cut'][:10])
FROM, TO = (str(CUT + timedelta(days=days)) for days in (-7, 6))
WITHIN = f"{{{{ TimeDimension('metric_time', 'day') }}}} BETWEEN '{FROM}' AND '{TO}'"
WEEK = 'metric_time__week'

ON_RESPONSES = [
    'responses', 'mentions', 'visibility', 'share_of_voice', 'position', 'sentiment', 'net_sentiment', 'first_mentions', 'citations',
    'owned_citations', 'citing_responses',
]
BY_ENTITY = ['mentions', 'visibility', 'share_of_voice', 'position', 'sentiment', 'net_sentiment', 'first_mentions']
# Measures, the prefix of the metrics, dimensions of MetricFlow, dimensions and columns of sightline; period is the week.
QUERIES = [
    (ON_RESPONSES, '', ['brand'], ['brand'], ['brand_id']),
    (ON_RESPONSES, '', ['brand', 'response__engine', WEEK], ['brand', 'engine'], ['brand_id', 'engine', 'period']),
    (ON_RESPONSES, '', ['brand__brand_name', 'prompt__topic_id'], ['brand', 'topic'], ['brand', 'topic_id']),
    (BY_ENTITY, 'entity_', ['brand', 'entity_response__entity', WEEK], ['brand', 'entity'], ['brand_id', 'entity', 'period']),
    (['citations', 'citing_responses'], 'domain_', ['brand', 'brand_domain__owner'], ['brand', 'owner'], ['brand_id', 'owner']),
    (
        ['citations', 'citing_responses'],
        'domain_',
        ['brand', 'cited_domain__domain', WEEK],
        ['brand', 'domain'],
        ['brand_id', 'domain', 'period'],
    ),
    (['ai_sessions', 'key_events', 'revenue'], '', ['brand', 'traffic_day__source', WEEK], ['brand', 'source'], ['brand_id', 'source', 'period']),
]

shutil.copytree(PROJECT, 'dbt', ignore=shutil.ignore_patterns('target', 'logs', '*.duckdb'))
os.chdir('dbt')


def run(program, *arguments):
    command = [Path(sys.executable).with_name(program), *arguments]
    return subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False)


def number(text):
    return None if text in ('', None) else float(text)


def keyed(rows, keys, names):
    """Rows by their keys, without rows that lack one; a time is cut to its day."""
    found = {}
    for row in rows:
        key = tuple(str(row[name] or '').removesuffix(' 00:00:00') for name in keys)
        if all(key):
            found[key] = [number(row[name]) for name in names]
    return found


def of_metricflow(measures, prefix, groups):
    names = [f'{prefix}{measure}' for measure in measures]
    done = run('mf', 'query', '--metrics', ','.join(names), '--group-by', ','.join(groups), '--where', WITHIN, '--csv', 'rows.csv')
    if done.returncode != 0:
        raise RuntimeError(f'{done.stdout[-300:]}{done.stderr[-300:]}')
    with open('rows.csv', encoding='utf-8', newline='') as file:
        return keyed(csv.DictReader(file), groups, names)


def of_sightline(measures, dimensions, columns):
    stdio = world['stdio']
    grain = ['--grain', 'week'] if 'period' in columns else []
    command = [stdio['command'], stdio['args'][0], 'metrics', 'query', ','.join(measures), '--group-by', *dimensions, *grain]
    options = ['--from', FROM, '--to', TO, '--compare-to', 'none', '--format', 'json']
    done = subprocess.run([*command, *options], cwd=stdio['cwd'], env=stdio['env'], capture_output=True, text=True, check=True)
    return keyed(json.loads(done.stdout), columns, measures)


def same(one, other):
    return one == other or (one is not None and other is not None and math.isclose(one, other, rel_tol=1e-9))


def differences(measures, prefix, groups, dimensions, columns):
    """Keys with different values, and the number of compared rows."""
    expected = of_sightline(measures, dimensions, columns)
    found = of_metricflow(measures, prefix, groups)
    keys = sorted({*found, *expected})
    different = [
        (key, found.get(key), expected.get(key))
        for key in keys
        if key not in found or key not in expected or not all(map(same, found[key], expected[key]))
    ]
    compared.append(len(expected))
    return different[:3], len(expected) > 0


compared = []
names = ('metricflow', 'dbt-core', 'dbt-duckdb')
report = Report(', '.join(f'{name} {version(name)}' if name != 'metricflow' else version(name) for name in names))
built = run('dbt', '--quiet', 'run')
report.equal('dbt run', lambda: (built.returncode, built.stdout[-300:]), (0, ''))
checked = run('mf', 'validate-configs', '--skip-dw')
report.equal('mf validate-configs', lambda: (checked.returncode, 'ERRORS: 0, FUTURE_ERRORS: 0, WARNINGS: 0' in checked.stdout), (0, True))
for query in QUERIES:
    measures, prefix, groups, _, _ = query
    report.equal(f"{len(measures)} metrics by {', '.join(groups)}", lambda: differences(*query), ([], True))
report.equal('compared rows: more than 50', lambda: sum(compared) > 50, True)
report.write()
