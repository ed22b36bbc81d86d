import { EXIT } from '../../../base/errors.ts';
import { shownTime } from '../../../contract/time.ts';
import type { ProgressState } from '../../../warehouse/ledger/progress-state.ts';
import { confirm } from '../../output/confirm.ts';
import { plural, printData, printJson, say } from '../../output/output.ts';
import { formatRows } from '../../output/row-format.ts';
import { workspaceOptions } from '../../program/common-options.ts';
import { defineCommand, defineGroup } from '../../program/define-command.ts';
import { flag, list } from '../../program/option-kinds.ts';

const scopeOptions = {
  ...workspaceOptions,
  resource: list('<resources...>', 'only these resources'),
  brand: list('<brands...>', 'only these brands, by name or ID'),
};
const yes = flag('do not ask for confirmation');

const listState = defineCommand({
  options: scopeOptions,
  examples: [
    ['sightline state list', 'list all resources and brands'],
    ['sightline state list --resource responses --brand acme', 'list one resource of a brand'],
  ],
  run: async ({ resource, brand, ...unread }, begin) => {
    const { config, json } = begin(unread);
    const { readState } = await import('../../../operations/state.ts');
    const { value, stale } = await readState(await config(), { resources: resource, brands: brand });
    if (json) printJson('state list', { resources: value });
    else printData(toTable(value));
    noteStale(stale);
    return EXIT.done;
  },
});

const reset = defineCommand({
  options: { ...scopeOptions, yes },
  examples: [
    ['sightline state reset --resource responses', 'fetch one resource again with the next sync'],
    ['sightline state reset --brand acme --yes', 'fetch everything of a brand again'],
  ],
  run: async ({ resource, brand, yes: isConfirmed, ...unread }, begin) => {
    const { context: load, json, signal } = begin(unread);
    const { resetState, resolveScope } = await import('../../../operations/state.ts');
    const context = await load();
    const scope = await resolveScope(context.config, { resources: resource, brands: brand });
    const of = [
      ...(scope.resources === null ? [] : [scope.resources.join(', ')]),
      ...(scope.brands === null ? [] : [`brand ${scope.brands.join(', ')}`]),
    ];
    const part = of.length === 0 ? 'everything' : of.join(' of ');
    const what = `this deletes the sync state of ${part} in workspace ${context.config.name}, and the next sync fetches it again`;
    if (!(await confirm(what, isConfirmed, signal))) return nothingDone();
    const slices = await resetState(context, scope);
    if (json) printJson('state reset', { slices });
    else say(`${plural(slices, 'slice')} reset; no row was deleted, and the next sync fetches them again`);
    return EXIT.done;
  },
});

export const state = defineGroup({
  list: { about: 'list completely fetched and unfinished parts', add: listState },
  reset: {
    about: 'delete the state, so that the next sync fetches the data again; no row is deleted',
    add: reset,
  },
});

function nothingDone(): number {
  say('Nothing was changed.');
  return EXIT.failed;
}

function toTable(state: readonly ProgressState[]): string {
  const names = ['resource', 'brand', 'complete', 'unfinished', 'first day', 'last day', 'last read'];
  const rows = state.map(({ resource, brandId, complete, unfinished, firstDay, lastDay, closedAt }) => {
    const read = closedAt === null ? '' : shownTime(closedAt);
    return [resource, brandId, complete, unfinished, firstDay, lastDay, read];
  });
  return formatRows({ columns: names.map((name) => ({ name, type: 'VARCHAR' })), rows }, 'table');
}

function noteStale(stale: boolean): void {
  if (stale) say('note: another process owns the warehouse; this is from the replica');
}
