"""Leaves out cases that are valid by the schema but not for this workspace: JSON Schema cannot express these rules."""

import json
import os
from datetime import date

import schemathesis

DAYS_MAX = 366
ENGINES = set(json.loads(os.environ['INTEROP_ENGINES']))


@schemathesis.hook
def filter_case(context, case):
    query = case.query or {}
    # A cursor is a token that a page contains; those of other parameters are rejected.
    if 'cursor' in query:
        return False
    # Slugs of engines belong to the workspace.
    if isinstance(query.get('engine'), str) and query['engine'] not in ENGINES:
        return False
    return is_range(query.get('from'), query.get('to'))


def is_range(first, last):
    """Dates in order, at most a year apart; today and 29 days before the last day are the defaults."""
    try:
        end = date.fromisoformat(last) if last is not None else date.today()
        start = date.fromisoformat(first) if first is not None else end
    except (TypeError, ValueError):
        return True
    return 0 <= (end - start).days < DAYS_MAX
