"""A folder with two workspaces of the world's upstream, for programs that run their jobs."""

import json
import subprocess
from pathlib import Path

from report import truth, world

NAMES = ['acme', 'globex']
SETTINGS = world['stdio']
KEY = 'SIGHTLINE_API_KEY'


def environment():
    """Writes the settings and the command into this folder, and returns the variables that the examples read."""
    folder = Path.cwd()
    base = SETTINGS['env']['SIGHTLINE_BASE_URL']
    workspace = {'baseUrl': base, 'apiKeyVariable': 'UPSTREAM_KEY'}
    (folder / 'sightline.config.json').write_text(json.dumps({'workspaces': {name: workspace for name in NAMES}}))
    command = folder / 'sightline'
    command.write_text(f'#!/bin/sh\nexec {SETTINGS["command"]} {SETTINGS["args"][0]} "$@"\n')
    command.chmod(0o755)
    kept = {name: value for name, value in SETTINGS['env'].items() if not name.startswith('SIGHTLINE_')}
    own = {'SIGHTLINE_FOLDER': str(folder), 'SIGHTLINE_COMMAND': str(command), 'HOME': str(folder)}
    return {**kept, **own, 'UPSTREAM_KEY': SETTINGS['env'][KEY]}


def responses(workspace, variables):
    """Counts the stored responses of a workspace."""
    sql = 'SELECT count(*) AS n FROM responses WHERE _deleted_at IS NULL'
    command = [variables['SIGHTLINE_COMMAND'], 'sql', sql, '--workspace', workspace, '--json']
    printed = subprocess.run(command, env=variables, capture_output=True, text=True, check=True).stdout
    return json.loads(printed)[0]


EXPECTED = sum(brand['responses'] for brand in truth['brands'])
