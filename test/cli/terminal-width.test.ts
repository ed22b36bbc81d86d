import { describe, expect, test } from 'vitest';
import { changesSentence, metricsText } from '../../src/cli/output/metrics-text.ts';
import { textTable, widthOf, wrapped } from '../../src/cli/output/text-table.ts';
import { worldClock } from '../support/worlds.ts';
import { expectRefusal, runCli, shareCli } from './helpers.ts';

const workspace = shareCli({ world: 'small' });

const columns = (...names: readonly string[]) => names.map((name) => ({ name, type: 'DOUBLE', about: '' }));

describe('a table without borders', () => {
  test('cuts the longest texts to the width of the terminal, and no numbers', () => {
    const shown = textTable(
      [{ name: 'prompt' }, { name: 'n', isNumber: true }],
      [
        ['予約システム のおすすめを教えてください。', '1,234'],
        ['Short', '5'],
      ],
      30,
    );
    expect(shown.split('\n').map(widthOf)).toEqual([30, 30, 30]);
    expect(shown).toMatch(/… +1,234/);
    expect(textTable([{ name: 'prompt' }], [['a\nlong text']], Number.POSITIVE_INFINITY)).toBe('prompt\na long text');
  });

  test('sentences break between words, with an indent after the first line', () => {
    expect(wrapped('one two three four', '1. ', 12)).toBe('1. one two\n   three\n   four');
    expect(wrapped('one two', '', Number.POSITIVE_INFINITY)).toBe('one two');
  });
});

describe('measures on a terminal', () => {
  const visibility = columns(
    ...['engine', 'visibility', 'visibility_n', 'visibility_lower', 'visibility_upper'],
    ...['visibility_before', 'visibility_change', 'visibility_significant'],
  );
  const rows = [
    ['claude', 0.4343891402714932, 1442, 0.3889, 0.481, 0.39, 0.0443891402714932, true],
    ['gemini', 0.25, 400, 0.2, 0.3, 0.26, -0.01, false],
    ['new', 0.25, 4, 0.1, 0.5, null, null, null],
  ];

  test('are rounded, with one sign that tells whether a change is beyond chance', () => {
    expect(metricsText({ columns: visibility, rows }, 80).split('\n')).toEqual([
      'engine  visibility   95 % interval  responses  before     change',
      'claude      43.4 %  38.9 to 48.1 %      1,442  39.0 %   ▲ 4.4 pp',
      'gemini      25.0 %  20.0 to 30.0 %        400  26.0 %  ≈ -1.0 pp',
      'new         25.0 %  10.0 to 50.0 %          4       -          -',
    ]);
    expect(changesSentence({ columns: visibility, rows })).toMatch(/^1 of 2 rows changed beyond chance\./);
    expect(changesSentence({ columns: columns('engine', 'visibility'), rows: [['a', 1]] })).toBeNull();
  });

  test('show the improvement of a position, counts in per cent, and no columns of a comparison that does not exist', () => {
    const position = columns('position', 'position_n', 'position_before', 'position_change', 'position_significant');
    expect(metricsText({ columns: position, rows: [[1.5, 40, 2, -0.5, true]] }, 80)).toMatch(/▲ 0\.50$/);
    const counts = columns('citations', 'citations_before', 'citations_change');
    expect(metricsText({ columns: counts, rows: [[122, 100, 22]] }, 80)).toMatch(/122 +100 +\+22 %$/);
    expect(metricsText({ columns: counts, rows: [[122, null, null]] }, 80)).toBe('citations\n      122');
  });
});

describe('the text of a command', () => {
  test.each([80, 120])('fits a terminal of %i columns', async (width) => {
    const { folder, env } = workspace;
    const values = JSON.parse((await workspace.run('metrics', 'values', 'brand', '--json')).stdout) as {
      rows: string[][];
    };
    const brand = values.rows[0]?.[1] ?? '';
    for (const args of [
      ['metrics', 'visibility', '--brand', brand],
      ['metrics', 'query', 'visibility,position,share_of_voice,sentiment,citations', '--group-by', 'prompt'],
      ['metrics', 'visibility', '--group-by', 'brand', '--group-by', 'entity', '--grain', 'week'],
      ['explain', 'visibility', '--brand', brand],
      ['changes', '--since', '60d'],
      ['opportunities', '--brand', brand],
      ['plan', '--offline'],
    ]) {
      const { code, stdout, stderr } = await runCli(args, { cwd: folder, env, clock: worldClock(), columns: width });
      expect(code, `${args.join(' ')}: ${stderr}`).toBe(0);
      expect(stdout.length, args.join(' ')).toBeGreaterThan(20);
      for (const line of stdout.split('\n'))
        expect(widthOf(line), `${args.join(' ')}: ${line}`).toBeLessThanOrEqual(width);
    }
  });

  test('a measure without a command is computed, and other words are refused', async () => {
    const { run } = workspace;
    const short = (await run('metrics', 'visibility', '--group-by', 'engine', '--json')).stdout;
    const long = (await run('metrics', 'query', 'visibility', '--group-by', 'engine', '--json')).stdout;
    expect(short).toEqual(long);
    expectRefusal(await run('metrics', 'nonsense'), 'invalid_parameter', false);
    expect((await run('metrics', 'visibility', '--format', 'csv')).stdout).toMatch(
      /^visibility,visibility_n,.*\r?\n0\.\d{6,}/,
    );
    expect((await run('completion', 'bash')).stdout).toMatch(
      /'metrics '\*\) words='[^']*\bquery\b[^']*\bshare_of_voice\b[^']*--brand/,
    );
  });
});
