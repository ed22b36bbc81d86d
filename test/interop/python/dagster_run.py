"""Materializes the asset of examples/dagster for two workspaces, as the user of its command line does."""

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

from report import Report
from two_workspaces import EXPECTED, NAMES, environment, responses

EXAMPLE = Path(os.environ['INTEROP_EXAMPLES']) / 'dagster' / 'sightline.py'
variables = {**environment(), 'DAGSTER_HOME': str(Path('dagster').absolute()), 'DAGSTER_DISABLE_TELEMETRY': 'yes'}
Path('dagster').mkdir()


def materialize(workspace):
    command = [Path(sys.executable).with_name('dagster'), 'asset', 'materialize', '--python-file', str(EXAMPLE)]
    chosen = ['--select', 'warehouse', '--partition', workspace]
    ended = subprocess.run([*command, *chosen], env=variables, capture_output=True, text=True, check=False)
    return ended.returncode, '' if ended.returncode == 0 else ended.stderr[-400:]


report = Report(version('dagster'))
for name in NAMES:
    report.equal(f'materialize {name}', lambda: materialize(name), (0, ''))
    report.equal(f'responses of {name}', lambda: responses(name, variables), {'n': EXPECTED})
report.write()
