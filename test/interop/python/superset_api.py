"""Connects the replica to Superset over its REST API, and queries datasets and SQL Lab with a temporal filter.

Imports the datasets of examples/superset and compares their metrics with `sightline metrics query`.
"""

import io
import json
import math
import os
import secrets
import subprocess
import sys
import threading
import urllib.error
import urllib.request
import zipfile
from datetime import date, timedelta
from http.cookiejar import CookieJar
from importlib.metadata import version
from pathlib import Path

from report import Report, truth, world

CONFIG = """
import os
SECRET_KEY = os.environ['INTEROP_SECRET']
SQLALCHEMY_DATABASE_URI = 'sqlite:///' + os.path.abspath('superset.db')
RATELIMIT_ENABLED = False
SQLLAB_BACKEND_PERSISTENCE = False
"""
PASSWORD = secrets.token_hex(16)

Path('superset_config.py').write_text(CONFIG, encoding='utf-8')
os.environ['SUPERSET_CONFIG_PATH'] = str(Path('superset_config.py').resolve())
os.environ['SUPERSET_HOME'] = str(Path.cwd())
os.environ['INTEROP_SECRET'] = secrets.token_hex(32)

from superset.app import create_app  # noqa: E402
from werkzeug.serving import make_server  # noqa: E402

report = Report(f"{version('apache-superset')}, duckdb-engine {version('duckdb-engine')}, DuckDB {version('duckdb')}")
for command in (
    ['db', 'upgrade'],
    ['fab', 'create-admin', '--username', 'admin', '--firstname', 'a', '--lastname', 'b', '--email', 'a@example.com', '--password', PASSWORD],
    ['init'],
):
    done = subprocess.run([Path(sys.executable).with_name('superset'), *command], capture_output=True, text=True, check=False)
    report.equal(f"superset {' '.join(command[:2])}", lambda: (done.returncode, '' if done.returncode == 0 else done.stderr[-300:]), (0, ''))

server = make_server('127.0.0.1', 0, create_app(), threaded=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
headers = {'Content-Type': 'application/json'}


def call(path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f'http://127.0.0.1:{server.server_port}/api/v1/{path}', data=data, headers=headers)
    try:
        with opener.open(request) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        raise RuntimeError(f'{path}: {error.code} {error.read().decode()[:400]}') from error


login = {'username': 'admin', 'password': PASSWORD, 'provider': 'db'}
headers['Authorization'] = f"Bearer {call('security/login', login)['access_token']}"
headers['X-CSRFToken'] = call('security/csrf_token/')['result']
headers['Referer'] = f'http://127.0.0.1:{server.server_port}/'
engine = {'engine_params': {'connect_args': {'read_only': True}}}
database = {'database_name': 'replica', 'sqlalchemy_uri': f"duckdb:///{world['replica']}", 'extra': json.dumps(engine)}
database_id = call('database/', {**database, 'expose_in_sqllab': True})['id']


def dataset(schema, table):
    return call('dataset/', {'database': database_id, 'schema': schema, 'table_name': table})['id']


def query(dataset_id, **parts):
    count = {'expressionType': 'SQL', 'sqlExpression': 'COUNT(*)', 'label': 'found'}
    question = {'metrics': [count], 'columns': [], 'row_limit': 10, **parts}
    body = {'datasource': {'id': dataset_id, 'type': 'table'}, 'queries': [question], 'result_format': 'json', 'result_type': 'full'}
    return call('chart/data', body)['result'][0]['data']


def since_cut():
    window = {'col': 'created_at', 'op': 'TEMPORAL_RANGE', 'val': f"{truth['cut'].removesuffix('Z')} : "}
    return query(responses, filters=[window])[0]['found']


figures = truth['figures']
schemas = call(f'database/{database_id}/schemas/')['result']
report.equal('lists the schemas', lambda: [name for name in ('main', 'mart') if not any(name in schema for schema in schemas)], [])
responses = dataset('main', 'responses')
report.equal('dataset of responses: rows', lambda: query(responses)[0]['found'], figures['responses'])
report.equal('dataset of responses: filter by an instant', since_cut, figures['sinceCut'])
weeks = dataset('mart', 'visibility_weekly')
report.equal('dataset of mart.visibility_weekly: rows', lambda: query(weeks)[0]['found'] > 0, True)
sql = f"SELECT count(*) AS found FROM responses WHERE created_at >= TIMESTAMPTZ '{truth['cut']}'"
lab = {'database_id': database_id, 'sql': sql, 'client_id': secrets.token_hex(5), 'runAsync': False}
report.equal('SQL Lab', lambda: call('sqllab/execute/', lab)['data'][0]['found'], figures['sinceCut'])


EXAMPLES = Path(os.environ['INTEROP_EXAMPLES']) / 'superset'
CUT = date.fromisoformat(truth['cut'][:10])
FROM, TO = (str(CUT + timedelta(days=days)) for days in (-7, 6))
IMPORTED = [
    ('responses', '', ['visibility', 'share_of_voice', 'position', 'net_sentiment', 'owned_citations', 'citations'], ['brand', 'engine'], ['brand', 'engine']),
    ('responses', '', ['responses', 'mentions', 'sentiment', 'first_mentions', 'citing_responses'], ['brand', 'topic'], ['brand', 'topic']),
    ('entity_responses', 'entity_', ['visibility', 'share_of_voice', 'position', 'first_mentions'], ['brand', 'entity'], ['brand', 'entity']),
    ('cited_domains', 'domain_', ['citations', 'citing_responses'], ['brand', 'owner'], ['brand', 'owner']),
    ('traffic', '', ['ai_sessions', 'key_events', 'revenue'], ['brand', 'source'], ['brand', 'source']),
]


def import_datasets():
    """Uploads the files as a ZIP, with the path of the replica."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, 'w') as archive:
        for path in sorted(EXAMPLES.rglob('*.yaml')):
            text = path.read_text(encoding='utf-8').replace('/path/to/data/default/analytics.duckdb', world['replica'])
            archive.writestr(f'superset/{path.relative_to(EXAMPLES)}', text)
    boundary = secrets.token_hex(16)
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="formData"; filename="sightline.zip"\r\nContent-Type: application/zip\r\n\r\n'
    body = head.encode() + packed.getvalue() + f'\r\n--{boundary}--\r\n'.encode()
    given = {**headers, 'Content-Type': f'multipart/form-data; boundary={boundary}'}
    request = urllib.request.Request(f'http://127.0.0.1:{server.server_port}/api/v1/dataset/import/', data=body, headers=given)
    try:
        with opener.open(request) as response:
            return json.load(response)['message']
    except urllib.error.HTTPError as error:
        raise RuntimeError(f'{error.code} {error.read().decode()[:500]}') from error


def of_sightline(measures, dimensions):
    stdio = world['stdio']
    command = [stdio['command'], stdio['args'][0], 'metrics', 'query', ','.join(measures), '--by', *dimensions]
    options = ['--from', FROM, '--to', TO, '--compare-to', 'none', '--json']
    done = subprocess.run([*command, *options], cwd=stdio['cwd'], env=stdio['env'], capture_output=True, text=True, check=True)
    return {tuple(row[name] for name in dimensions): [row[name] for name in measures] for row in json.loads(done.stdout)}


def of_superset(table, prefix, measures, columns):
    until = date.fromisoformat(TO) + timedelta(days=1)
    window = {'col': 'day', 'op': 'TEMPORAL_RANGE', 'val': f'{FROM} : {until}'}
    names = [f'{prefix}{measure}' for measure in measures]
    rows = query(imported[f'sightline_{table}'], metrics=names, columns=columns, filters=[window], row_limit=10000)
    return {tuple(row[name] for name in columns): [row[name] for name in names] for row in rows if None not in map(row.get, columns)}


def close(one, other):
    return one == other or (one is not None and other is not None and math.isclose(float(one), float(other), rel_tol=1e-9))


def differences(table, prefix, measures, dimensions, columns):
    expected = of_sightline(measures, dimensions)
    found = of_superset(table, prefix, measures, columns)
    keys = sorted({*found, *expected})
    different = [key for key in keys if key not in found or key not in expected or not all(map(close, found[key], expected[key]))]
    return [(key, found.get(key), expected.get(key)) for key in different[:3]], len(expected) > 0


report.equal('imports the datasets of examples/superset', import_datasets, 'OK')
imported = {each['table_name']: each['id'] for each in call('dataset/?q=(page_size:100)')['result']}
for each in IMPORTED:
    report.equal(f"{', '.join(each[2])} by {', '.join(each[3])}", lambda: differences(*each), ([], True))
report.write()
os._exit(0)
