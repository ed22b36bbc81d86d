import Table from 'cli-table3';
import { EXIT } from '../../base/errors.ts';
import { type PricedPlan, priceWorkspace } from '../../operations/plan.ts';
import { commandContext, type WorkspaceFlags } from '../context.ts';
import { count, duration, plural, printData, reportError, say } from '../output/output.ts';
import { listOf, rangeOf } from '../program/flags.ts';

/** Flags of `plan`. */
export interface PlanFlags extends WorkspaceFlags {
  readonly only?: readonly string[];
  readonly brand?: readonly string[];
  readonly from?: string;
  readonly to?: string;
  readonly full?: boolean;
  readonly offline?: boolean;
}

/** Runs `sightline plan` and returns its exit code. */
export async function plan(flags: PlanFlags, signal: AbortSignal): Promise<number> {
  const options = {
    only: listOf('--only', flags.only),
    range: rangeOf(flags),
    brands: listOf('--brand', flags.brand),
    full: flags.full === true,
  };
  const context = commandContext('plan', flags, signal);
  const priced = await priceWorkspace(context, options, flags.offline === true);
  const { error, ...result } = priced;
  if (error !== null) {
    // Without a complete refresh the estimate would be wrong.
    reportError(error, flags.json === true);
    return error.exit;
  }
  if (flags.json === true) printData(JSON.stringify({ ...result, doneAt: new Date(result.doneAt).toISOString() }));
  else describe(priced);
  return EXIT.done;
}

function describe({
  requests,
  resources,
  skippedDays,
  unreliable,
  continues,
  perMinute,
  minutes,
  doneAt,
  asked,
}: PricedPlan) {
  const table = new Table({
    head: ['resource', 'requests', 'reason'],
    colAligns: ['left', 'right', 'left'],
    style: { head: [], border: [], compact: true },
  });
  for (const { name, requests: all, reasons } of resources) {
    for (const [index, { reason, requests: some }] of reasons.entries()) {
      table.push([index === 0 ? name : '', count(some), reason]);
    }
    if (reasons.length > 1) table.push(['', count(all), 'total']);
  }
  printData(table.toString());
  const at = new Date(doneAt).toISOString().slice(0, 16).replace('T', ' ');
  say(
    `A sync would take about ${plural(requests, 'request')}: ${duration(minutes * 60_000)} at ${count(perMinute)} per minute, done at ${at} UTC.`,
  );
  if (asked > 0) say(`Planning took ${plural(asked, 'request')}.`);
  if (skippedDays > 0) say(`${plural(skippedDays, 'day')} skipped: the stored rows match upstream's day counts.`);
  if (unreliable.length > 0)
    say(`Upstream's day counts are unreliable for ${unreliable.join(', ')}: the last days are fetched again.`);
  if (continues) say('The last run was not finished; its remaining pages come first.');
}
