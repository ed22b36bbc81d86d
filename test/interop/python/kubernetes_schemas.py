"""Validates the manifests of docs/deploy/kubernetes against the published schemas, also of members that they do not know."""

from importlib.metadata import version
from pathlib import Path

import kubernetes_validate
import yaml

from report import Report

MANIFESTS = Path(__file__).parents[3] / 'docs' / 'deploy' / 'kubernetes'


def problem(manifest):
    try:
        kubernetes_validate.validate(manifest, kubernetes_validate.latest_version(), strict=True)
    except kubernetes_validate.ValidationError as error:
        return f'{error.path}: {error.message}'
    return ''


report = Report(f"{version('kubernetes-validate')}, Kubernetes {kubernetes_validate.latest_version()}")
files = sorted(MANIFESTS.glob('*.yaml'))
report.equal('there are manifests', lambda: len(files) > 0, True)
for path in files:
    for manifest in yaml.safe_load_all(path.read_text(encoding='utf-8')):
        report.equal(f'{path.name}: {manifest["kind"]}', lambda: problem(manifest), '')
report.write()
