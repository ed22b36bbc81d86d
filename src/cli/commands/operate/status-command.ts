import { EXIT, SightlineError } from '../../../base/errors.ts';
import { visibleLine } from '../../../base/visible.ts';
import { DAY_MS, shownTime } from '../../../contract/time.ts';
import type { WorkspaceStatus } from '../../../operations/status.ts';
import type { WarehouseStatus } from '../../../warehouse/ledger/warehouse-status.ts';
import type { Verdict } from '../../../web/page-data/status-lines.ts';
import type { WorkspaceFlags } from '../../context.ts';
import { count, duration, plural, printData, printJson, reportError, size } from '../../output/output.ts';
import { runningText } from '../../output/running-text.ts';
import { terminal } from '../../output/terminal.ts';
import { workspaceOptions } from '../../program/common-options.ts';
import { defineCommand } from '../../program/define-command.ts';
import { flag } from '../../program/option-kinds.ts';
import { toReported } from '../../reported.ts';

const WORDS = { good: 'all well', busy: 'working', attention: 'attention', problem: 'problem' } as const;
const MARKS = { good: '✓', busy: '…', attention: '!', problem: '✗' } as const;
/** Items of a list that are shown. The JSON has all of them. */
const SHOWN_MAX = 5;

/** Exit codes of `status --check`, for monitoring. A workspace that was never synced has `attention`. */
const EXIT_OF = { good: EXIT.done, busy: EXIT.done, attention: EXIT.partial, problem: EXIT.failed } as const;

export const status = defineCommand({
  options: {
    ...workspaceOptions,
    all: flag('show every configured workspace'),
    check: flag('exit with 0 if all is well, 3 if something should be checked, 1 if something does not work'),
  },
  examples: [
    ['sightline status', 'show the verdict and the state of the data'],
    ['sightline status --all --check', 'check every workspace, for monitoring'],
  ],
  run: async ({ all, check, ...unread }, begin) => {
    const { config, flags, json } = begin(unread);
    if (all) return statusOfAll(flags, json, check);
    const operation = await import('../../../operations/status.ts');
    const read = operation.readWorkspaceStatus(await config(), terminal().clock);
    const one = await read.catch((thrown: unknown) => {
      if (check && thrown instanceof SightlineError && thrown.code === 'no_data') return thrown;
      throw thrown;
    });
    if (one instanceof SightlineError) {
      reportError(one, json);
      return EXIT.partial;
    }
    if (json) printJson('status', one);
    else printData(describe(one, operation));
    return check ? EXIT_OF[one.verdict.level] : EXIT.done;
  },
});

// Continues after an unreadable workspace. A workspace that was never synced affects the exit code only with `check`.
async function statusOfAll(flags: WorkspaceFlags, json: boolean, check: boolean): Promise<number> {
  const { readAllConfigs } = await import('../../checked-config.ts');
  const operation = await import('../../../operations/status.ts');
  let worst: number = EXIT.done;
  for (const one of readAllConfigs(flags)) {
    const result =
      'error' in one ? one.error : await operation.readWorkspaceStatus(one.config, terminal().clock).catch(toReported);
    const isError = result instanceof SightlineError;
    if (isError && result.code !== 'no_data') worst = EXIT.failed;
    const checked = !check ? EXIT.done : isError ? EXIT.partial : EXIT_OF[result.verdict.level];
    if (checked === EXIT.failed || (checked === EXIT.partial && worst === EXIT.done)) worst = checked;
    if (json) {
      const shown = isError ? { error: { code: result.code, message: result.message, hint: result.hint } } : result;
      printJson('status --all', { ...shown, workspace: one.name });
    } else printData(isError ? `${one.name}: ${result.message}` : describe(result, operation));
  }
  return worst;
}

type UnconfirmedTexts = Pick<typeof import('../../../operations/status.ts'), 'unconfirmedText' | 'CONFIRM_HINT'>;

function describe(status: WorkspaceStatus, texts: UnconfirmedTexts): string {
  const { workspace, folder, owner, asOf, stale, bytes, jobs, destinations, progress, data, verdict } = status;
  const lines = [`${workspace}: ${WORDS[verdict.level]}`, ...describeVerdict(verdict), `  folder       ${folder}`];
  const add = (label: string, text: string): void => {
    lines.push(`  ${label.padEnd(12)} ${visibleLine(text)}`);
  };
  if (owner !== null) add('owned by', `\`${owner.command}\` (process ${owner.pid}, since ${shownTime(owner.since)})`);
  if (progress !== null) add('running', `\`${progress.command}\`: ${runningText(progress)}`);
  if (stale) add('read from', `the replica of ${toMinute(asOf)}; the warehouse has newer data`);
  add(
    'size',
    `${size(bytes.all)}: warehouse ${size(bytes.warehouse)}, replica ${size(bytes.replica)}, snapshots ${size(bytes.snapshots)}`,
  );
  if (data === null) add('data', 'none yet: the first sync is running');
  else describeData(data, texts, add);
  for (const { job, status: ended, startedAt, steps } of jobs) {
    const why = steps.find(({ status: of, error }) => of === ended && ended !== 'done' && error !== null);
    add('job', `${job} ${ended} at ${toMinute(startedAt)}${why === undefined ? '' : `: ${why.step}: ${why.error}`}`);
  }
  for (const one of destinations) add('destination', `${one.name}: ${describeDestination(one)}`);
  return lines.join('\n');
}

function describeDestination({ last, next }: WorkspaceStatus['destinations'][number]): string {
  const failure =
    last === null || last.error === null ? '' : `; the load at ${toMinute(last.at)} failed: ${last.error}`;
  if (last?.loadedAt == null) return `not loaded yet${failure}`;
  const isCurrent = next === 'nothing' && last.error === null;
  const state = next === 'changes' ? ', older than the replica' : isCurrent ? ', up to date' : '';
  const rows = last.rows === null ? 'loaded' : plural(last.rows, 'row');
  return `${rows} at ${toMinute(last.loadedAt)}${state}${failure}`;
}

function describeVerdict({ findings }: Verdict): string[] {
  return findings.flatMap(({ level, sentence, command, consequences }) => [
    `  ${MARKS[level]} ${visibleLine(sentence)}${command === null ? '' : ` Run \`${command}\`.`}`,
    ...consequences.map((consequence) => `      ${visibleLine(consequence)}`),
  ]);
}

function describeData(
  data: WarehouseStatus,
  { unconfirmedText, CONFIRM_HINT }: UnconfirmedTexts,
  add: (label: string, text: string) => void,
): void {
  const { lastRun, brands, quarantined, drift, unlearned, key, differing, unconfirmedDeletions, backfill, comparison } =
    data;
  if (lastRun === null) add('last run', 'none');
  else {
    const took = lastRun.durationMs === null ? '' : ` in ${duration(lastRun.durationMs)}`;
    const why = lastRun.error === null ? '' : `: ${lastRun.error}`;
    add(
      'last run',
      `${lastRun.status} at ${toMinute(lastRun.endedAt ?? lastRun.startedAt)}, ${plural(lastRun.requests, 'request')}${took}${why}`,
    );
  }
  add('key', describeKey(key));
  const names = new Map(brands.map(({ brandId, name }) => [brandId, name ?? brandId]));
  describeFreshness(data, names, add);
  for (const { resource, days, requestsPerSync } of backfill) {
    const pace = `at most ${plural(requestsPerSync, 'request')} per sync`;
    add('backfill', `${resource}: totals of ${plural(days, 'older day')} unknown; filled in the background, ${pace}`);
  }
  for (const { resource, brandId, day, counted, stored, isPermanent, nextRetryAt } of differing.slice(0, SHOWN_MAX)) {
    const when = nextRetryAt === null ? 'the next sync' : toMinute(nextRetryAt);
    const next = isPermanent ? 'permanent' : `next retry: ${when}`;
    const figures = `${count(counted)} counted by upstream, ${count(stored)} stored`;
    add('differs', `${resource}  ${names.get(brandId) ?? brandId}  ${day}: ${figures}; ${next}`);
  }
  if (differing.length > SHOWN_MAX) add('', `and ${plural(differing.length - SHOWN_MAX, 'day')} more`);
  for (const one of unconfirmedDeletions) add('unconfirmed', unconfirmedText(one));
  if (unconfirmedDeletions.length > 0) add('', CONFIRM_HINT);
  for (const { brandId, name, verifiedThrough, verifiedAt, differingDays } of brands) {
    const differ =
      differingDays === 0 ? '' : `, ${plural(differingDays, 'day')} differ${differingDays === 1 ? 's' : ''}`;
    const through = verifiedThrough === null ? 'not yet from its first day' : `through ${verifiedThrough}`;
    add(
      'verified',
      `${name ?? brandId}: ${verifiedAt === null ? 'never' : `${through} (at ${toMinute(verifiedAt)}${differ})`}`,
    );
  }
  add('quarantine', quarantined === 0 ? 'empty' : `${plural(quarantined, 'item')}; see select * from sync.quarantine`);
  const fresh = drift.filter(({ isNew }) => isNew).length;
  add(
    'drift',
    drift.length === 0 ? 'none' : `${count(drift.length)}, ${count(fresh)} new; see select * from sync.drift`,
  );
  for (const { resource, path, kind, detail } of drift.slice(0, SHOWN_MAX)) {
    add('', `${resource} ${path}: ${kind}${detail === null ? '' : ` (${detail})`}`);
  }
  add('compared', describeComparison(comparison));
  const conventions = unlearned.map(({ name }) => name).join(', ');
  add('conventions', unlearned.length === 0 ? 'calibrated as far as the data allow' : `not calibrated: ${conventions}`);
}

type Resource = WarehouseStatus['resources'][number];

// Resources that were read completely for every brand within a day of the newest are one line.
function describeFreshness(
  { resources, freshness }: Pick<WarehouseStatus, 'resources' | 'freshness'>,
  names: ReadonlyMap<string, string>,
  add: (label: string, text: string) => void,
): void {
  const times = resources.flatMap(({ readAt }) => (readAt === null ? [] : [readAt])).sort();
  const since = Date.parse(times.at(-1) ?? '') - DAY_MS;
  const unread = (name: string): number => freshness.neverRead.filter(({ resource }) => resource === name).length;
  const isFresh = ({ resource, readAt, unfinished, gapBrands }: Resource): boolean =>
    readAt !== null && Date.parse(readAt) > since && unread(resource) + unfinished === 0 && gapBrands.length === 0;
  const fresh = resources.filter(isFresh);
  if (fresh.length > 0) {
    const first = fresh.map(({ readAt }) => readAt).sort()[0] ?? null;
    add('fresh', `${plural(fresh.length, 'resource')}, all read since ${toMinute(first)}`);
  }
  const others = resources.filter((one) => !isFresh(one));
  const width = Math.max(...others.map(({ resource }) => resource.length));
  for (const { resource, readAt, gaps, gapBrands, unfinished } of others) {
    const begun = unfinished === 0 ? '' : `, ${plural(unfinished, 'slice')} not finished`;
    const lacking = readAt === null || unread(resource) === 0 ? '' : `, never for ${plural(unread(resource), 'brand')}`;
    add(
      'resource',
      `${resource.padEnd(width)}  ${readAt === null ? 'never read' : toMinute(readAt)}${lacking}${begun}`,
    );
    for (const { brandId, days } of gapBrands.slice(0, SHOWN_MAX)) {
      const own = gaps.filter((gap) => gap.brandId === brandId).slice(0, SHOWN_MAX);
      const listed = own.length === 0 ? '' : `: ${own.map(toRange).join(', ')}`;
      add('', `${names.get(brandId) ?? brandId}: ${plural(days, 'day')} missing${listed}`);
    }
    if (gapBrands.length > SHOWN_MAX) add('', `and ${plural(gapBrands.length - SHOWN_MAX, 'brand')} more`);
  }
  for (const { resource, oldestRead } of resources) {
    if (oldestRead === null) continue;
    const { brandId, day, at } = oldestRead;
    add('', `${resource}: least recently read is ${day} of ${names.get(brandId) ?? brandId}, at ${toMinute(at)}`);
  }
}

function describeComparison(comparison: WarehouseStatus['comparison']): string {
  if (comparison === null) return 'never; `sightline compare` compares responses with upstream';
  const { at, compared, equal, differing } = comparison;
  const fields = differing.length === 0 ? '' : `; differing: ${differing.join(', ')}`;
  return `${count(equal)} of ${count(compared)} responses equal to upstream (at ${toMinute(at)}${fields})`;
}

function describeKey({ state, lastRefusal }: WarehouseStatus['key']): string {
  const refusal = lastRefusal === null ? '' : `upstream returned ${lastRefusal.status} at ${toMinute(lastRefusal.at)}`;
  if (state === 'refused') return `refused: ${refusal}`;
  return `${state}${refusal === '' ? '' : `; ${refusal}`}`;
}

function toRange({ from, to }: { readonly from: string; readonly to: string }): string {
  return from === to ? from : `${from} to ${to}`;
}

function toMinute(time: string | null): string {
  return time === null ? 'no time' : shownTime(time);
}
