import { expect, test } from 'vitest';
import { checkKnown, type KnownValues, ParameterError, readQuery } from '../../src/contract/query-parameters.ts';
import { dayOf } from '../../src/contract/time.ts';
import { builtInCatalogue as catalogue } from '../../src/workspace/catalogues.ts';

const NOW_MS = Date.parse('2026-03-15T12:00:00Z');
const UNKNOWN = 'cccccccc-0000-4000-8000-000000000003';

const engines: KnownValues = ({ resource }) => (resource === 'engines' ? new Set(['mira', 'Basalt']) : null);

/** The range, or the value of the parameter that the request is about; 400 if it is rejected. */
function outcomeOf(text: string, isAnyLength = false): unknown {
  const { query } = catalogue.get('responses');
  const parameter = text.split('=')[0] ?? '';
  try {
    const asked = readQuery(query, new URLSearchParams(text), dayOf(NOW_MS), { isAnyLength });
    checkKnown(query, asked, engines);
    return /^(from|to)$/.test(parameter) ? `${asked.from} ${asked.to}` : asked.values[parameter];
  } catch (thrown) {
    if (!(thrown instanceof ParameterError)) throw thrown;
    expect(text).toContain(thrown.parameter);
    expect(thrown.message).toContain(thrown.allowed);
    return 400;
  }
}

test.for([
  ['limit=0', 400],
  ['limit=ten', 400],
  ['limit=2.5', 400],
  ['limit=1e1', 400],
  ['limit=', 400],
  ['limit=1&limit=2', 400],
  ['limit=100', 100],
  ['limit=101', 400],
  ['from=2026-02-30&to=2026-03-10', 400],
  ['from=2026-03-12&to=2026-03-18', '2026-03-12 2026-03-18'],
  ['from=15.3.2026', 400],
  ['from=2026-03-12&to=2026-03-10', 400],
  ['from=2026-03-15', '2026-03-15 2026-03-15'],
  ['from=2026-03-16', 400],
  ['to=2026-03-01', '2026-01-31 2026-03-01'],
  ['from=2025-03-15&to=2026-03-15', '2025-03-15 2026-03-15'],
  ['from=2025-03-14&to=2026-03-15', 400],
  ['branded=maybe', 400],
  ['brandMentioned=maybe', 400],
  ['brandMentioned=1', 400],
  ['cursor=', 400],
  ['engine=mira', 'mira'],
  ['engine=MIRA', 400],
  ['unknown=x', 400],
  [`promptId=${UNKNOWN}`, UNKNOWN],
  [`promptId=${UNKNOWN.toUpperCase()}`, UNKNOWN],
  ['promptId=x', 400],
] as const)('%s is answered with %s', ([text, expected]) => {
  expect(outcomeOf(text)).toEqual(expected);
});

test('a range of an undeclared endpoint may have any length', () => {
  expect(outcomeOf('from=2024-01-01&to=2026-03-15', true)).toBe('2024-01-01 2026-03-15');
});
