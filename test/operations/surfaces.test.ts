import { basename, dirname } from 'node:path';
import { expect, test } from 'vitest';
import { type JsonName, jsonOutputs } from '../../src/cli/json/json-outputs.ts';
import { addDays, dayOf } from '../../src/contract/time.ts';
import { runOnReplica } from '../../src/operations/run-on-replica.ts';
import { openContext } from '../../src/operations/sightline.ts';
import { dataOperations } from '../../src/read/metrics/data-operations.ts';
import { createKey } from '../../src/serve/auth/keys.ts';
import { askChecked, serveBefore } from '../serve/mcp/serve-before.ts';
import { stillClock } from '../serve/served-world.ts';
import { NOW_MS } from '../support/clocks.ts';
import { expectJson } from '../support/json-outputs.ts';
import { runCommand } from '../support/run-command.ts';

/** Inputs by operation. BRAND is replaced by the name of a brand. */
const INPUTS: Readonly<Record<string, readonly Readonly<Record<string, string | readonly string[]>>[]>> = {
  query_metrics: [
    { metrics: ['visibility', 'position'], group_by: ['engine'], grain: 'week', brand: ['BRAND'] },
    { metrics: ['share_of_voice'], group_by: ['brand', 'entity'], order: ['-share_of_voice'], limit: '3' },
  ],
  list_dimension_values: [{ dimension: 'domain' }, { dimension: 'prompt', brand: ['BRAND'], search: 'e', limit: '2' }],
  explain_change: [
    { metric: 'visibility', brand: 'BRAND', from: addDays(dayOf(NOW_MS), -4), to: addDays(dayOf(NOW_MS), -2) },
  ],
  brief: [{ brand: 'BRAND', from: addDays(dayOf(NOW_MS), -4), to: addDays(dayOf(NOW_MS), -2) }],
  what_changed: [{ since: '30d', brand: ['BRAND'], limit: '5' }],
  find_opportunities: [{ brand: 'BRAND', kind: ['source_gap'], limit: '1' }],
};

const world = serveBefore('small');

/** The texts of a value, without the names of columns. */
function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (value === null || typeof value !== 'object') return [];
  return Object.entries(value).flatMap(([name, inner]) => (name === 'columns' ? [] : textsOf(inner)));
}

test.for(dataOperations.map((operation) => [operation.name, operation] as const))(
  '%s returns the same from its function, its command, its route and its tool',
  async ([name, operation]) => {
    const { brands, config, server } = world();
    const surroundings = { dataDir: dirname(config.folder), workspace: basename(config.folder) };
    const context = openContext({ ...surroundings, environment: {}, clock: stillClock });
    const { text: key } = await createKey(config.folder, name, null, Date.now(), { scopes: ['metrics'] });
    expect(INPUTS[name]).toBeDefined();
    for (const given of INPUTS[name] ?? []) {
      const input = Object.entries(given).map(([member, value]) => {
        const named = [value].flat().map((one) => one.replace('BRAND', brands[0]?.name ?? ''));
        return [member, named] as const;
      });
      const parameters = new URLSearchParams(
        input.flatMap(([member, all]) => all.map((one) => [member, one] as [string, string])),
      );
      const result = JSON.parse(JSON.stringify(await runOnReplica(context, operation, parameters)));

      const [command = ''] = Object.entries(jsonOutputs).find(([, { shape }]) => shape === operation.output) ?? [];
      const words = input.flatMap(([member, all]) => {
        const { isRequired = false } = operation.members[member] ?? {};
        return isRequired ? [all.join()] : [`--${member.replaceAll('_', '-')}=${all.join()}`];
      });
      const flags = ['--json', `--data-dir=${surroundings.dataDir}`, `--workspace=${surroundings.workspace}`];
      const { stdout, stderr } = await runCommand([...command.split(' '), ...words, ...flags], {
        cwd: surroundings.dataDir,
        clock: stillClock,
      });
      expect(stdout, stderr).not.toBe('');
      expect(expectJson(command as JsonName, stdout), command).toEqual(result);

      const address = new URL(`${operation.path}?${parameters}`, server.baseUrl);
      const response = await fetch(address, { headers: { 'x-api-key': key } });
      expect(await response.json(), operation.path).toEqual(result);

      const { shown, note } = await askChecked(
        world(),
        name,
        Object.fromEntries(
          input.map(([member, all]) => {
            const { type } = operation.members[member] ?? {};
            return [member, type === 'array' ? all : type === 'integer' ? Number(all[0]) : all[0]];
          }),
        ),
      );
      // The tool has a short form of the result, with the same texts.
      const texts = new Set(textsOf(result));
      const { about: _, definitions: __, url: ___, sql: ____, _sightline: _____, ...rows } = shown;
      expect(textsOf(rows).filter((one) => !texts.has(one))).toEqual([]);
      expect(textsOf(rows).length).toBeGreaterThan(0);
      const { total = 0, rows: found = result.opportunities } = result;
      if (total > found?.length) expect(note.omitted).toContain(`These are the first ${found.length} of ${total} rows`);
      if (result.asOf !== undefined) expect(note).toMatchObject({ asOf: result.asOf, completeTo: result.completeTo });
    }
  },
);
