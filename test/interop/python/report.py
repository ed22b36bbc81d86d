"""Checks of one client. The result is written as JSON to the file that INTEROP_RESULT names."""

import json
import os
import traceback

DETAIL_MAX = 600

with open(os.environ['INTEROP_WORLD'], encoding='utf-8') as file:
    world = json.load(file)

truth = world['truth']


class Report:
    def __init__(self, version):
        self.version = version
        self.checks = []

    def equal(self, name, find, expected):
        """Compares what a function returns with the expected value; an exception is a failed check."""
        try:
            found = find()
            ok = found == expected
            detail = '' if ok else f'found {found!r}, expected {expected!r}'
        except Exception as error:  # Every error of a client is a finding.
            ok, detail = False, ''.join(traceback.format_exception_only(error)).strip()
        self.checks.append({'name': name, 'ok': ok, 'detail': detail[:DETAIL_MAX]})

    def figures(self, source, readers):
        """Compares the figures that a client finds in a source with the truth; every figure needs a reader."""
        for name, expected in truth['figures'].items():
            self.equal(f'{source}: {name}', readers[name], expected)

    def write(self):
        with open(os.environ['INTEROP_RESULT'], 'w', encoding='utf-8') as file:
            json.dump({'version': self.version, 'checks': self.checks}, file)
