import { afterAll, expect, it } from 'vitest';
import { countOf } from '../support/counts.ts';
import { defaultChoices, describeChoices, randomChoices } from './choices.ts';
import { countDiffering, type ExamResult, examine, type Finding } from './exam.ts';
import { isExplained } from './points.ts';

/** Random combinations of choices. */
const COMBINATIONS = countOf(1, 12);
/** In the usual run, one whose upstream does not send a row for every day, which would take most of the time. */
const SEED = countOf(8, 1 + (Number(process.env['PROPERTY_SEED']) % 188));
/** A sync takes most of the time, so that few combinations with many questions each are cheaper than the opposite. */
const QUESTIONS = countOf(80, 300);
const PROBES_MAX = 6;
/** Share of the choices that are random in the usual run; the others are the usual ones. */
const RANDOM_SHARE = 0.3;
/** Apart from orders: six questions do not decide the order of equal rows if many other points are open too. */
const DIFFERING_MOST = 0.01;

/** Only to catch hangs. */
const TIMEOUT_MS = 600_000;

const results: ExamResult[] = [];

it(
  'answers like an upstream that makes the usual choices, after at most 6 probes',
  {
    timeout: TIMEOUT_MS,
  },
  async () => {
    const options = { choices: defaultChoices(), seed: SEED, probesMax: PROBES_MAX };
    const { findings, probes, rejected } = await examine({ ...options, questions: countOf(40, 300) });
    expect(rejected).toEqual([]);
    expect(findings.map(describeFinding)).toEqual([]);
    expect(probes).toBeGreaterThan(0);
    expect(probes).toBeLessThanOrEqual(PROBES_MAX);
  },
);

it.each(Array.from({ length: COMBINATIONS }, (_, index) => SEED + index))(
  'lists every difference from the upstream of seed %i as undetermined, after at most 6 probes',
  { timeout: TIMEOUT_MS },
  async (seed) => {
    const choices = randomChoices(seed, RANDOM_SHARE);
    const result = await examine({ choices, seed, questions: QUESTIONS, probesMax: PROBES_MAX });
    results.push(result);
    expect(result.rejected).toEqual([]);
    expect(result.probes).toBeGreaterThan(0);
    expect(result.probes).toBeLessThanOrEqual(PROBES_MAX);
    const unexplained = result.findings.filter((finding) => !isExplained(finding, result.points));
    expect(unexplained.map(describeFinding), describeChoices(choices)).toEqual([]);
  },
);

it('answers all questions but one in 100 like upstreams with other choices in a third of the points, apart from the order of rows', () => {
  const asked = results.reduce((sum, result) => sum + result.asked, 0);
  const differing = results.reduce((sum, { findings }) => {
    return sum + countDiffering({ findings: findings.filter(({ field }) => !field.endsWith('(order)')) });
  }, 0);
  expect(asked).toBeGreaterThan(0);
  expect(differing).toBeLessThanOrEqual(Math.max(1, Math.floor(asked * DIFFERING_MOST)));
});

afterAll(() => {
  if (results.length > 0) process.stdout.write(`${summarize(results)}\n`);
});

function describeFinding({ path, field, expected, served }: Finding): string {
  return `${path}: ${field} is ${JSON.stringify(served)}, expected ${JSON.stringify(expected)}`;
}

function summarize(all: readonly ExamResult[]): string {
  const asked = all.reduce((sum, result) => sum + result.asked, 0);
  const differing = all.reduce((sum, result) => sum + countDiffering(result), 0);
  const counts = new Map<string, number>();
  for (const { findings } of all) {
    const fields = new Set(
      findings.map(({ path, field }) => `${path.replace(/\?.*/, '').split('/').slice(3).join('/')} ${field}`),
    );
    for (const field of fields) counts.set(field, (counts.get(field) ?? 0) + 1);
  }
  const open = all.reduce((sum, { points }) => sum + points.filter(({ state }) => state === 'undetermined').length, 0);
  const lines = [...counts].sort((a, b) => b[1] - a[1]).map(([field, count]) => `  ${field}: ${count} combinations`);
  return [
    `${asked - differing} of ${asked} equal in ${all.length} combinations; ${open} points undetermined`,
    ...lines,
  ].join('\n');
}
