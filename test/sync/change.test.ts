import { describe, expect, test } from 'vitest';
import type { Advance } from '../../schemas/fixtures/world/model.ts';
import type { Catalogue } from '../../src/contract/catalogue.ts';
import { NOW_MS } from '../support/clocks.ts';
import { expectEqualToUpstream, fingerprint, storedRanges } from '../support/compare.ts';
import { countOf } from '../support/counts.ts';
import { type Expected, readUpstream } from '../support/upstream-truth.ts';
import { changesOf, openWorkspace, type TestWorkspace } from '../support/workspace.ts';

const changes: readonly Advance[] = [
  { lateAnswers: 3 },
  { editedResponses: 3 },
  { deletedResponses: 4 },
  { pausedPrompts: 1 },
  { regroupedPrompts: 1 },
  { deletedPrompts: 1 },
  { deletedCompetitors: 2 },
  { forumStatusChanges: 3 },
  { articleProgress: 3 },
  { actionsDone: 2 },
];

describe('a sync applies exactly the changes of upstream', () => {
  // All changes happen in one workspace, so that they also meet the results of earlier ones.
  test('for the kinds of changes, some at a time, for new hours without changes, and for new days with all kinds', async () => {
    const workspace = await openWorkspace({ world: 'tiny' });
    let before = await rowsByKey(workspace);
    const ever = new Set(keysOf(before));
    const atOnce = countOf(changes.length, 1);
    const steps = Array.from({ length: Math.ceil(changes.length / atOnce) }, (_, step) =>
      Object.assign({}, ...changes.slice(step * atOnce, (step + 1) * atOnce)),
    );
    for (const change of [...steps, { days: 0.2 }] as Advance[]) {
      const made = workspace.sandbox.advance(change);
      expect(made.length, JSON.stringify(change)).toBeGreaterThanOrEqual(change.days === undefined ? 1 : 0);
      const after = await rowsByKey(workspace);
      const summary = await workspace.sync();
      expect(summary, JSON.stringify(change)).toMatchObject({ status: 'complete', failures: [], quarantined: 0 });
      const expected = changesBetween(before, after, ever);
      expect(Object.keys(expected).length, JSON.stringify(change)).toBeGreaterThan(0);
      expect(changesOf(summary), JSON.stringify(change)).toEqual(expected);
      for (const key of keysOf(after)) ever.add(key);
      before = after;
    }
    workspace.sandbox.advance(Object.assign({}, ...changes, { days: 2 }) as Advance);
    expect(await workspace.sync()).toMatchObject({ status: 'complete', failures: [] });
    await expectEqualToUpstream(workspace);
    const stored = await fingerprint(workspace);
    const last = await workspace.sync();
    expect({ status: last.status, changes: changesOf(last) }).toEqual({ status: 'complete', changes: {} });
    expect(await fingerprint(workspace)).toEqual(stored);
  });
});

describe('a deletion', () => {
  test('sets the time of deletion on the row and its children and keeps their values', async () => {
    const workspace = await openWorkspace({ world: 'tiny' });
    const [change] = workspace.sandbox.advance({ deletedResponses: 2 });
    const ids = (change?.ids ?? []).map((id) => `'${id}'`).join(', ');
    const read = (): Promise<unknown> =>
      workspace.query(`SELECT COLUMNS(* EXCLUDE _deleted_at) FROM responses WHERE id IN (${ids}) ORDER BY id`);
    const kept = await read();
    await workspace.sync({ only: ['responses'] });
    expect(await read()).toEqual(kept);
    for (const [table, key] of [
      ['responses', 'id'],
      ['response_citations', 'response_id'],
      ['response_competitors', 'response_id'],
    ] as const) {
      const marks = await workspace.query(`SELECT DISTINCT epoch_ms(_deleted_at) AS at, ${key} IN (${ids}) AS gone
        FROM ${table} WHERE _deleted_at IS NOT NULL OR ${key} IN (${ids})`);
      expect(marks, table).toEqual([{ at: BigInt(NOW_MS), gone: true }]);
    }
  });

  test('is undone in every table, including children and details, when upstream lists the rows again', async () => {
    const workspace = await openWorkspace({ world: 'small' });
    const { brands } = workspace.sandbox.world;
    const prompts = brands.map((brand) => brand.prompts[0] as (typeof brand.prompts)[number]);
    const brand = brands.pop() as (typeof brands)[number];
    for (const prompt of prompts) prompt.deletedAtMs = NOW_MS;
    const gone = await workspace.sync();
    expect(changesOf(gone)).toMatchObject({ brands: { deleted: 1 }, prompts: { deleted: 1 } });
    await expectEqualToUpstream(workspace);

    brands.push(brand);
    for (const prompt of prompts) prompt.deletedAtMs = undefined;
    // Deletes the rows that upstream still listed, too.
    for (const resource of workspace.catalogue.resources) {
      if (resource.change.kind === 'value') continue;
      for (const table of resource.derived) {
        for (const { name } of [table, ...table.children])
          await workspace.query(`UPDATE "${name}" SET _deleted_at = TIMESTAMP '2026-01-01' WHERE _deleted_at IS NULL`);
      }
    }
    // Days that agree with the day counts are read again only on request.
    const back = await workspace.sync({ full: true });
    expect(changesOf(back)).toMatchObject({ brands: { updated: 2 } });
    await expectEqualToUpstream(workspace);
  });
});

type Tables = ReadonlyMap<string, ReadonlyMap<string, string>>;

// The content of every table by row key, including the row's detail and children.
async function rowsByKey(workspace: TestWorkspace): Promise<Tables> {
  const { sandbox, catalogue } = workspace;
  const today = new Date(sandbox.world.now()).toISOString().slice(0, 10);
  const expected = await readUpstream({
    baseUrl: sandbox.baseUrl,
    key: sandbox.key,
    today,
    totalsOf: storedRanges(workspace),
  });
  const tables = new Map<string, Map<string, string>>();
  for (const part of expected) {
    const { table, keyOf } = ownerOf(catalogue, part);
    const rows = tables.get(table) ?? new Map<string, string>();
    tables.set(table, rows);
    for (const row of part.rows) {
      const key = keyOf(row);
      rows.set(key, `${rows.get(key) ?? ''}${JSON.stringify(row)}`);
    }
  }
  return tables;
}

function ownerOf(catalogue: Catalogue, { resource, table }: Expected) {
  for (const owner of catalogue.get(resource).derived) {
    const child = owner.children.find(({ name }) => name === table);
    const key = child === undefined ? owner.key : child.parentKey;
    if (owner.name === table || child !== undefined) {
      const keyOf = (row: Record<string, unknown>): string => JSON.stringify(key.map((name) => row[name] ?? null));
      return { table: owner.name, keyOf };
    }
  }
  throw new Error(`${resource} has no table ${table}`);
}

function keysOf(tables: Tables): string[] {
  return [...tables].flatMap(([table, rows]) => [...rows.keys()].map((key) => table + key));
}

// A row that was deleted and is listed again counts as updated, not inserted.
function changesBetween(before: Tables, after: Tables, ever: ReadonlySet<string>) {
  const changed: Record<string, { inserted: number; updated: number; deleted: number }> = {};
  for (const [table, rows] of after) {
    const old = before.get(table) ?? new Map<string, string>();
    const keys = [...rows.keys()];
    const counts = {
      inserted: keys.filter((key) => !ever.has(table + key)).length,
      updated: keys.filter((key) => ever.has(table + key) && old.get(key) !== rows.get(key)).length,
      deleted: [...old.keys()].filter((key) => !rows.has(key)).length,
    };
    if (table === 'credits' && counts.updated > 0) Object.assign(counts, { inserted: 1, updated: 0 });
    if (counts.inserted + counts.updated + counts.deleted > 0) changed[table] = counts;
  }
  return changed;
}
