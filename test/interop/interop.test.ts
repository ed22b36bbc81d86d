import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { clients } from './clients.ts';
import { MissingPiece, requireProgram } from './prepare.ts';
import { type Entry, isFailure, mergeEntries, type Outcome, outcomeLines, summaryLine } from './results.ts';

const names = clients.map(({ name }) => name);
const check = (name: string, ok: boolean) => ({ name, ok, detail: ok ? '' : 'found 2, expected 1' });
const passed: Outcome = { name: 'pandas', kind: 'tried', version: '3.0', checks: [check('rows', true)] };
const failed: Outcome = {
  name: 'polars',
  kind: 'tried',
  version: '2.0',
  checks: [check('rows', false), check('sum', true)],
};
const untried: Outcome = { name: 'jdbc', kind: 'not tried', missing: 'no `java`' };

describe('the interoperability suite', () => {
  it('has one result for each client', () => {
    const entries = JSON.parse(readFileSync(join(import.meta.dirname, 'results.json'), 'utf8')) as Entry[];
    expect(entries).toMatchObject(clients.map(({ name, tool, tried }) => ({ client: name, tool, tried })));
    expect(new Set(names).size).toBe(names.length);
  });

  it('prints and counts clients that this machine cannot try, with the missing piece', async () => {
    await expect(requireProgram('no-such-program')).rejects.toThrow(new MissingPiece('no `no-such-program`'));
    await expect(requireProgram('node')).resolves.toBeUndefined();
    expect(outcomeLines(untried, 1)).toEqual(['NOT TRIED: jdbc: no `java`']);
    expect(summaryLine([passed, failed, untried, untried])).toBe('1 clients passed, 1 failed, 2 NOT TRIED');
    expect([passed, failed, untried].map(isFailure)).toEqual([false, true, false]);
  });

  it('names each failed check with its detail', () => {
    expect(outcomeLines(failed, 7.6)).toEqual([
      'FAILED: polars 2.0: 1 of 2 checks passed, 8 s',
      '    rows: found 2, expected 1',
    ]);
    expect(isFailure({ name: 'dbt', kind: 'failed', message: 'the program ended with 1' })).toBe(true);
  });

  it('keeps the last result of a client that was not tried', () => {
    const first = mergeEntries(['pandas', 'polars', 'jdbc'], [], [passed, failed, untried], '2026-11-22');
    expect(first).toMatchObject([
      { version: '3.0', date: '2026-11-22', passed: 1, failed: [] },
      { version: '2.0', date: '2026-11-22', passed: 1, failed: ['rows'] },
      { version: null, date: null, missing: 'no `java`' },
    ]);
    const later: Outcome[] = [{ name: 'pandas', kind: 'not tried', missing: 'no `python3`' }];
    expect(mergeEntries(['pandas', 'polars', 'jdbc'], first, later, '2026-11-23')).toEqual(first);
  });
});
