"""Connects the replica to Superset over its REST API, and queries datasets and SQL Lab with a temporal filter."""

import json
import os
import secrets
import subprocess
import sys
import threading
import urllib.error
import urllib.request
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
database = {'database_name': 'sightline', 'sqlalchemy_uri': f"duckdb:///{world['replica']}", 'extra': json.dumps(engine)}
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
report.write()
os._exit(0)
