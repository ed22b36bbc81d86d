import { exitCodeOf } from '../../../base/ending.ts';
import { COMPARE_REQUESTS } from '../../../jobs/job.ts';
import type { Compared, Comparison } from '../../../operations/compare/compare-question.ts';
import { count, errorJson, plural, printData, printJson, reportError, say } from '../../output/output.ts';
import { createSyncProgress } from '../../output/progress-line.ts';
import { formatRows } from '../../output/row-format.ts';
import { workspaceOptions } from '../../program/common-options.ts';
import { defineCommand } from '../../program/define-command.ts';
import { integer, list } from '../../program/option-kinds.ts';

/** Differing questions that are shown. The JSON has all of them. */
const SHOWN_MAX = 20;

export const compare = defineCommand({
  options: {
    ...workspaceOptions,
    requests: integer(
      '<number>',
      `maximum requests to the API (default: ${COMPARE_REQUESTS.standard})`,
      1,
      COMPARE_REQUESTS.max,
    ),
    brand: list('<brands...>', 'only these brands, by name or ID'),
    resource: list('<resources...>', 'only these resources'),
    seed: integer('<number>', 'number that chooses the questions, to ask the same ones again', 0, 1_000_000_000),
  },
  examples: [
    ['sightline compare', 'ask the API and the local data 50 generated questions and compare the responses'],
    ['sightline compare --requests 300 --resource responses metrics', 'compare two resources thoroughly'],
  ],
  run: async ({ requests, brand, resource, seed, ...unread }, begin) => {
    const { context, json, signal } = begin(unread);
    const { compareWorkspace, endingOfComparison } = await import('../../../operations/compare/compare.ts');
    const request = { requests: requests ?? COMPARE_REQUESTS.standard, brands: brand, resources: resource, seed };
    const progress = createSyncProgress(signal);
    const comparison = await compareWorkspace(await context(), request, progress.update).finally(progress.done);
    const shown = renderComparison(comparison, json);
    if (json) printJson('compare', shown);
    return exitCodeOf(endingOfComparison(comparison));
  },
});

/** Prints the result of a comparison and returns its JSON form. With `json` it does not print the table. */
export function renderComparison(comparison: Comparison, json: boolean) {
  const { questions, error, seed, requests, at } = comparison;
  const of = (verdict: Compared['verdict']): readonly Compared[] => questions.filter((one) => one.verdict === verdict);
  const [equal, differing, skipped] = [of('equal'), of('differs'), of('skipped')];
  if (!json && differing.length > 0) printData(toTable(differing));
  say(
    `${count(equal.length)} of ${count(equal.length + differing.length)} responses equal to upstream${skipped.length === 0 ? '' : `, ${count(skipped.length)} skipped`}; seed ${seed}`,
  );
  for (const { resource, convention } of uniqueConventions(differing)) {
    say(
      `${resource}: equal with ${convention}; \`sightline calibration\` has the evidence, and the setting "conventions" overrides it`,
    );
  }
  if (skipped[0]?.detail !== undefined) say(`skipped: ${String(skipped[0].detail)}`);
  if (error !== null) reportError(error, false);
  return {
    at: new Date(at).toISOString(),
    seed,
    requests,
    compared: equal.length + differing.length,
    equal: equal.length,
    skipped: skipped.length,
    differing: differing.map(({ verdict: _verdict, fields: _fields, detail: _detail, ...question }) => question),
    ...(error === null ? {} : errorJson(error)),
  };
}

function toTable(differing: readonly Compared[]): string {
  const names = ['resource', 'question', 'differing fields', 'equal with', 'first difference'];
  const rows = differing
    .slice(0, SHOWN_MAX)
    .map(({ resource, query, fields, convention, detail }) => [
      resource,
      new URLSearchParams(query).toString(),
      fields.slice(0, 3).join(', '),
      convention ?? '',
      detail ?? '',
    ]);
  if (differing.length > SHOWN_MAX) say(`the first ${SHOWN_MAX} of ${plural(differing.length, 'differing response')}:`);
  return formatRows({ columns: names.map((name) => ({ name, type: 'VARCHAR' })), rows }, 'table');
}

function uniqueConventions(differing: readonly Compared[]) {
  const found = new Map(
    differing.flatMap(({ resource, convention }) =>
      convention === null ? [] : [[`${resource} ${convention}`, { resource, convention }] as const],
    ),
  );
  return [...found.values()];
}
