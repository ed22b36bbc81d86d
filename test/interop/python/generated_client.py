"""Generates a client with openapi-python-client and calls every endpoint with it."""

import importlib
import inspect
import json
import os
import pkgutil
import subprocess
import sys
import typing
import urllib.request
from enum import Enum
from importlib.metadata import version
from pathlib import Path
from uuid import UUID

from report import Report, truth, world

ENDPOINTS = 29
ARGUMENTS = {
    'brand_id': truth['article']['brandId'],
    'article_id': truth['article']['id'],
    'brand': truth['article']['brandId'],
    'metric': 'visibility',
    'metrics': ['visibility'],
    'dimension': 'engine',
    'name': 'filters',
}
ORIGIN = world['baseUrl'].removesuffix('/v1')

report = Report(version('openapi-python-client'))
request = urllib.request.Request(f"{world['baseUrl']}/openapi.json", headers={'X-Api-Key': world['key']})
with urllib.request.urlopen(request) as response:
    Path('openapi.json').write_bytes(response.read())
generator = Path(sys.executable).with_name('openapi-python-client')
command = [generator, 'generate', '--path', 'openapi.json', '--output-path', 'generated', '--meta', 'none']
path = os.pathsep.join([str(generator.parent), os.environ['PATH']])
generated = subprocess.run(command, env={**os.environ, 'PATH': path}, capture_output=True, text=True, check=False)
# Warnings name what the generator left out: it cannot parse Parquet, which the endpoints of the server return for files.
said = [line for line in (generated.stdout + generated.stderr).splitlines() if line.startswith(('WARNING', 'ERROR')) and 'within server' not in line]
report.equal('generates without warnings', lambda: (generated.returncode, said), (0, []))
sys.path.insert(0, str(Path.cwd()))


def endpoints():
    api = importlib.import_module('generated.api')
    for _, tag, _ in pkgutil.iter_modules(api.__path__):
        # Snapshots are files.
        if tag == 'server':
            continue
        package = importlib.import_module(f'generated.api.{tag}')
        for _, name, _ in pkgutil.iter_modules(package.__path__):
            module = importlib.import_module(f'generated.api.{tag}.{name}')
            # The generator does not read the servers of single paths: data of the pages are not below the address of the API.
            yield name, (module, ORIGIN if tag == 'data' else world['baseUrl'])


def call(module, address):
    from generated import AuthenticatedClient

    client = AuthenticatedClient(base_url=address, token=world['key'], raise_on_unexpected_status=True)
    given = {}
    for name, parameter in inspect.signature(module.sync_detailed).parameters.items():
        if name in ARGUMENTS:
            given[name] = typed(ARGUMENTS[name], parameter.annotation)
    result = module.sync_detailed(client=client, **given)
    assert int(result.status_code) == 200, result.status_code
    # A model that keeps everything, unknown fields included, writes what it read. The balance has no documented fields.
    return differences(plain(result.parsed), json.loads(result.content), '')


def typed(value, annotation):
    """Returns a value as the type that the generator made of its schema."""
    inner = typing.get_args(annotation)
    if isinstance(value, list):
        return [typed(one, inner[0]) for one in value]
    kinds = [kind for kind in inner or (annotation,) if inspect.isclass(kind) and issubclass(kind, (Enum, UUID))]
    return kinds[0](value) if kinds else value


def plain(parsed):
    if isinstance(parsed, list):
        return [plain(one) for one in parsed]
    return parsed if isinstance(parsed, dict) else parsed.to_dict()


def differences(found, expected, path):
    """Names up to three places where values differ; times may be written in another form."""
    if isinstance(expected, dict) and isinstance(found, dict):
        missing = [f'{path}.{name} is missing' for name in expected if name not in found]
        inner = [one for name in expected if name in found for one in differences(found[name], expected[name], f'{path}.{name}')]
        return (missing + inner)[:3]
    if isinstance(expected, list) and isinstance(found, list):
        if len(expected) != len(found):
            return [f'{path} has {len(found)} items instead of {len(expected)}']
        return [one for index, item in enumerate(expected) for one in differences(found[index], item, f'{path}[{index}]')][:3]
    if found == expected or (isinstance(found, str) and isinstance(expected, str) and expected[:19] == found[:19]):
        return []
    return [f'{path} is {found!r} instead of {expected!r}']


try:
    modules = dict(endpoints())
except Exception as error:
    modules = {}
    report.equal('imports', lambda: f'{type(error).__name__}: {error}', None)
report.equal('generates every endpoint', lambda: len(modules), ENDPOINTS)
for name, (module, address) in modules.items():
    report.equal(f'calls {name}', lambda: call(module, address), [])
report.write()
