"""Tests the served OpenAPI document with all checks of Schemathesis."""

import json
import os
import subprocess
import sys
import urllib.request
from importlib.metadata import version
from pathlib import Path

from report import Report, world

CASES_MIN = 5_000
EXAMPLES = 200
DATA_EXAMPLES = 50
# Rounds with different seeds, because one ends when it has tried the few inputs of simple endpoints.
ROUNDS_MAX = 6
HEADERS = {'X-Api-Key': world['key']}
DETAILS_MAX = 5

report = Report(version('schemathesis'))


def get(path):
    with urllib.request.urlopen(urllib.request.Request(f"{world['baseUrl']}{path}", headers=HEADERS)) as response:
        return response.read()


Path('openapi.json').write_bytes(get('/openapi.json'))
engines = [engine['slug'] for engine in json.loads(get('/engines'))['data']]
environment = {
    **os.environ,
    'PYTHONPATH': str(Path(__file__).parent),
    'SCHEMATHESIS_HOOKS': 'schemathesis_hooks',
    'INTEROP_ENGINES': json.dumps(engines),
}


def run(name, seed, *options, url=world['baseUrl']):
    """Runs Schemathesis and returns the number of cases."""
    command = [Path(sys.executable).with_name('st'), 'run', 'openapi.json', '--url', url, '--no-color']
    fixed = ['--header', f"X-Api-Key: {world['key']}", '--seed', str(seed), '--continue-on-failure', '--report', 'json']
    path = f'{name}.json'
    ended = subprocess.run([*command, *fixed, '--report-json-path', path, *options], env=environment, capture_output=True, text=True, check=False)
    if not Path(path).exists():
        raise RuntimeError((ended.stdout + ended.stderr)[-600:])
    found = json.loads(Path(path).read_text(encoding='utf-8'))
    said = [f"{failure['code']} {failure['title']}: {failure['operations'][:DETAILS_MAX]}" for failure in found['failures']]
    report.equal(f'{name}: completes without failures', lambda: [found['complete'], *said, *found['errors']], [True])
    return found['test_cases']['generated']


# Schemathesis does not read the servers of single paths: these are not below the address of the API.
below = ['--exclude-tag', 'server', '--exclude-tag', 'data']
# After 30 wrong keys in a minute an address receives 429, as documented, where this check expects 401. So it runs apart, slowly.
apart = ['--checks', 'ignored_auth', '--phases', 'fuzzing', '--mode', 'positive', '--max-examples', '1', '--rate-limit', '25/m']
run('wrong keys', 1, *apart, *below)
others = ['--checks', 'all', '--exclude-checks', 'ignored_auth', '--max-examples', str(EXAMPLES), *below]
cases = 0
for seed in range(1, ROUNDS_MAX + 1):
    if cases < CASES_MIN:
        cases += run(f'all other checks, seed {seed}', seed, *others)
# Which values of brands and dimensions are valid depends on the workspace, so that any request may be rejected.
checks = 'not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,response_schema_conformance'
run('data of the pages', 1, '--checks', checks, '--max-examples', str(DATA_EXAMPLES), '--include-tag', 'data', url=world['baseUrl'].removesuffix('/v1'))
report.equal(f'at least {CASES_MIN} cases', lambda: cases >= CASES_MIN or cases, True)
report.write()
