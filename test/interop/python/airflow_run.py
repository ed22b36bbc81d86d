"""Runs the DAG of examples/airflow for two workspaces, as `airflow dags test` does."""

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

from report import Report
from two_workspaces import EXPECTED, NAMES, environment, responses

variables = {
    **environment(),
    'AIRFLOW_HOME': str(Path('airflow').absolute()),
    'AIRFLOW__CORE__DAGS_FOLDER': str(Path(os.environ['INTEROP_EXAMPLES']) / 'airflow'),
    'AIRFLOW__CORE__LOAD_EXAMPLES': 'false',
}


def airflow(*arguments):
    command = [Path(sys.executable).with_name('airflow'), *arguments]
    ended = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    return ended.returncode, '' if ended.returncode == 0 else (ended.stdout + ended.stderr)[-400:]


report = Report(version('apache-airflow'))
report.equal('airflow db migrate', lambda: airflow('db', 'migrate'), (0, ''))
report.equal('airflow dags test sightline', lambda: airflow('dags', 'test', 'sightline'), (0, ''))
for name in NAMES:
    report.equal(f'responses of {name}', lambda: responses(name, variables), {'n': EXPECTED})
report.write()
