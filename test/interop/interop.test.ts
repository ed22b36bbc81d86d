import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { clients } from './clients.ts';
import { MissingPiece, requireProgram } from './prepare.ts';
import { type Entry, entryCells, isFailure, mergeEntries, type Outcome, outcomeLines, summaryLine } from './results.ts';

const root = join(import.meta.dirname, '../..');
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
  it('has the clients of the table in docs/bi.md, with the results of results.json', () => {
    const entries = JSON.parse(readFileSync(join(root, 'test/interop/results.json'), 'utf8')) as Entry[];
    expect(entries.map(({ client }) => client)).toEqual(names);
    const page = readFileSync(join(root, 'docs/bi.md'), 'utf8');
    const table = /<!-- generated: clients -->\n([\s\S]*?)<!-- end -->/.exec(page)?.[1] ?? '';
    const rows = table
      .trim()
      .split('\n')
      .slice(2)
      .map((line) => line.split('|').map((cell) => cell.trim()));
    expect(rows.map(([, tool, , , tried]) => [tool, tried])).toEqual(clients.map(({ tool, tried }) => [tool, tried]));
    expect(rows.map(([, , version, date, , result]) => [version, date, result])).toEqual(entries.map(entryCells));
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
    expect(first.map(entryCells)).toEqual([
      ['3.0', '2026-11-22', '1 checks passed'],
      ['2.0', '2026-11-22', '1 of 2 checks FAILED'],
      ['', '', 'NOT TRIED: no `java`'],
    ]);
    const later: Outcome[] = [{ name: 'pandas', kind: 'not tried', missing: 'no `python3`' }];
    expect(mergeEntries(['pandas', 'polars', 'jdbc'], first, later, '2026-11-23')).toEqual(first);
  });
});
