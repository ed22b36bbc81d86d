import { describe, expect, test } from 'vitest';
import {
  checkKnown,
  type KnownValues,
  NO_ID,
  ParameterError,
  type Query,
  type RequestRules,
  readQuery,
  strictRules,
} from '../../src/contract/query-parameters.ts';
import { dayOf } from '../../src/contract/time.ts';
import { builtInCatalogue as catalogue } from '../../src/session/catalogues.ts';

const NOW_MS = Date.parse('2026-03-15T12:00:00Z');
const ID = 'aaaaaaaa-0000-4000-8000-000000000001';
const GONE = 'bbbbbbbb-0000-4000-8000-000000000002';
const UNKNOWN = 'cccccccc-0000-4000-8000-000000000003';

const lists: KnownValues = {
  of: ({ resource }) => new Set(resource === 'engines' ? ['mira', 'Basalt'] : [ID]),
  isDeleted: (_list, value) => value === GONE,
};

function ask(text: string, rules: Partial<RequestRules>, name = 'responses'): Query {
  const { query } = catalogue.get(name);
  const options = { rules: { ...strictRules, ...rules } };
  return checkKnown(query, readQuery(query, new URLSearchParams(text), dayOf(NOW_MS), options), lists, options);
}

/** 400, 404, or the range and the value of the parameter that the request is about. */
function outcomeOf(text: string, rules: Partial<RequestRules>, name?: string): unknown {
  const parameter = text.split('=')[0] ?? '';
  try {
    const { values, from, to } = ask(text, rules, name);
    return parameter === 'from' || parameter === 'to' ? `${from} ${to}` : (values[parameter] ?? null);
  } catch (thrown) {
    if (!(thrown instanceof ParameterError)) throw thrown;
    return thrown.isMissing ? 404 : 400;
  }
}

describe('requests that the specification does not define', () => {
  test.for([
    ['limit=0', { invalidLimit: 'rejected' }, 400],
    ['limit=ten', { invalidLimit: 'default' }, 25],
    ['limit=2.5', { invalidLimit: 'least' }, 1],
    ['limit=101', { overLimit: 'clamped' }, 100],
    ['limit=101', { overLimit: 'honoured' }, 101],
    ['from=2026-02-30&to=2026-03-10', { invalidDay: 'rejected' }, 400],
    ['from=2026-02-30&to=2026-03-10', { invalidDay: 'ignored' }, '2026-02-09 2026-03-10'],
    ['from=2026-03-12&to=2026-03-18', { futureRange: 'given' }, '2026-03-12 2026-03-18'],
    ['from=2026-03-12&to=2026-03-18', { futureRange: 'clamped' }, '2026-03-12 2026-03-15'],
    ['from=2026-03-12&to=2026-03-18', { futureRange: 'rejected' }, 400],
    ['from=2026-03-12&to=2026-03-10', { reversedRange: 'swapped' }, '2026-03-10 2026-03-12'],
    ['from=2026-03-12&to=2024-01-01', { reversedRange: 'swapped', overRange: 'last' }, '2025-03-12 2026-03-12'],
    ['branded=maybe', { invalidChoice: 'ignored' }, null],
    ['brandMentioned=maybe', { invalidChoice: 'ignored' }, null],
    ['engine=MIRA', { engineCase: 'exact' }, 400],
    ['engine=MIRA', { engineCase: 'exact', unknownEngine: 'missing' }, 404],
    ['engine=MIRA', { engineCase: 'any' }, 'mira'],
    ['engine=basalt', { engineCase: 'any', unknownEngine: 'empty' }, 'Basalt'],
    ['engine=none', { engineCase: 'any', unknownEngine: 'empty' }, 'none'],
    [`promptId=${UNKNOWN}`, { unknownPrompt: 'empty' }, UNKNOWN],
    [`promptId=${UNKNOWN}`, { unknownPrompt: 'missing' }, 404],
    [`topicId=${UNKNOWN}`, { unknownPrompt: 'missing', unknownGroup: 'rejected' }, 400],
    [`competitorId=${UNKNOWN}`, { unknownCompetitor: 'rejected' }, 400],
    [`competitorId=${ID}`, { unknownCompetitor: 'rejected' }, ID],
    [`promptId=${GONE}`, { unknownPrompt: 'missing', deletedIds: 'known' }, GONE],
    [`promptId=${GONE}`, { unknownPrompt: 'missing', deletedIds: 'unknown' }, 404],
    ['promptId=x', { invalidId: 'rejected' }, 400],
    ['promptId=x', { invalidId: 'unknown' }, NO_ID],
    ['promptId=x', { invalidId: 'unknown', unknownPrompt: 'missing' }, 404],
    [`promptId=${ID.toUpperCase()}`, { idCase: 'any' }, ID],
    [`promptId=${ID.toUpperCase()}`, { idCase: 'exact' }, NO_ID],
    [`promptId=${ID.toUpperCase()}`, { idCase: 'exact', unknownPrompt: 'rejected' }, 400],
  ] as const)('%s with %o', ([text, rules, expected]) => {
    expect(outcomeOf(text, rules)).toEqual(expected);
  });
});
