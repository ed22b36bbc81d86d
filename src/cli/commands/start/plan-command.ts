import { EXIT } from '../../../base/errors.ts';
import { shownTime } from '../../../contract/time.ts';
import type { PricedPlan } from '../../../operations/plan.ts';
import { count, duration, plural, printData, printJson, reportError, say } from '../../output/output.ts';
import { boundsText } from '../../output/plan-bounds.ts';
import { textTable, wrapped } from '../../output/text-table.ts';
import { rangeOf, syncRangeOptions, workspaceOptions } from '../../program/common-options.ts';
import { defineCommand } from '../../program/define-command.ts';
import { flag, list } from '../../program/option-kinds.ts';

export const plan = defineCommand({
  options: {
    ...workspaceOptions,
    only: list('<resources...>', 'only these resources and their dependencies'),
    brand: list('<brands...>', 'only these brands, by name or ID'),
    ...syncRangeOptions,
    full: flag('plan a sync that fetches everything again'),
    offline: flag("send no requests: plan from the stored data and upstream's last counts"),
  },
  examples: [
    ['sightline plan', 'show the requests of the next sync'],
    ['sightline plan --full --offline', 'estimate a complete sync without sending requests'],
  ],
  run: async ({ only, brand, from, to, full, offline, ...unread }, begin) => {
    const { context, json } = begin(unread);
    const options = { only, range: rangeOf(from, to), brands: brand, full };
    const { priceWorkspace } = await import('../../../operations/plan.ts');
    const priced = await priceWorkspace(await context(), options, offline);
    const { error, ...result } = priced;
    if (error !== null) {
      // Without a complete refresh the estimate would be wrong.
      reportError(error, json);
      return error.exit;
    }
    if (json) printJson('plan', result);
    else printPlan(priced);
    return EXIT.done;
  },
});

/** Prints a plan: a table on standard output and sentences on standard error. */
export function printPlan({
  requests,
  least,
  most,
  resources,
  skippedDays,
  unreliable,
  continues,
  perMinute,
  minutes,
  doneAt,
  asked,
  probes,
}: Omit<PricedPlan, 'error'>): void {
  const tell = (sentence: string): void => say(wrapped(sentence));
  const table: string[][] = [];
  for (const { name, requests: all, reasons } of resources) {
    for (const [index, { reason, requests: some }] of reasons.entries()) {
      table.push([index === 0 ? name : '', count(some), reason]);
    }
    if (reasons.length > 1) table.push(['', count(all), 'total']);
  }
  const columns = [{ name: 'resource' }, { name: 'requests', isNumber: true }, { name: 'reason' }];
  printData(`${textTable(columns, table)}\n`);
  tell(
    `A sync would take about ${plural(requests, 'request')}${boundsText({ requests, least, most })}: ${duration(minutes * 60_000)} at ${count(perMinute)} per minute, done at ${shownTime(doneAt)}.`,
  );
  if (probes.length > 0) {
    const counts = [...new Set(probes.map(({ resource }) => resource))].map(
      (name) => `${name} ${probes.filter(({ resource }) => resource === name).length}`,
    );
    tell(`If the sync changes data, ${plural(probes.length, 'question')} of calibration follow: ${counts.join(', ')}.`);
  }
  if (asked > 0) tell(`Planning took ${plural(asked, 'request')}.`);
  if (skippedDays > 0) tell(`${plural(skippedDays, 'day')} skipped: the stored rows match upstream's day counts.`);
  if (unreliable.length > 0)
    tell(`Upstream's day counts are unreliable for ${unreliable.join(', ')}: the last days are fetched again.`);
  if (continues) tell('The last run was not finished; its remaining pages come first.');
}
