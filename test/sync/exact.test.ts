import { describe, expect, test } from 'vitest';
import { declarations } from '../../schemas/catalogue.ts';
import { fixtures } from '../../schemas/fixtures/all.ts';
import type { WorkspaceOptions } from '../../schemas/fixtures/start.ts';
import type { Workspace } from '../../schemas/fixtures/world/model.ts';
import { createCatalogue } from '../../src/contract/catalogue.ts';
import type { ResourceDeclaration } from '../../src/contract/resource.ts';
import type { Fixture } from '../../src/sandbox/fixture.ts';
import { expectEqualToUpstream, fingerprint } from '../support/compare.ts';
import type { Upstream } from '../support/upstream-truth.ts';
import { changesOf, openWorkspace } from '../support/workspace.ts';

type Answering = Extract<Fixture<Workspace>, { answer: unknown }>;

interface Variant {
  readonly options: WorkspaceOptions;
  readonly upstream?: Partial<Upstream>;
  /** Warnings of a complete run. */
  readonly warnings?: readonly RegExp[];
}

// Several choices for the points that the specification leaves open.
const variants: Record<string, Variant> = {
  "the project's own choices": { options: {} },
  'bare lists, bare engines, unknown fields, fractions, whole seconds, no description of itself': {
    options: {
      seed: 2,
      choices: {
        listEnvelope: 'bare',
        engineItems: 'strings',
        extraFields: true,
        scale: 'fraction',
        timestamps: 'seconds',
        decimals: 'none',
        credits: 'detailed',
        combinedEngine: 'all',
        openapi: 'absent',
      },
    },
  },
  'wrapped objects, another row-mode parameter, combined rows without an engine': {
    options: {
      seed: 3,
      choices: {
        wrapObjects: true,
        extraFields: true,
        rowModeParameter: 'splitBy',
        combinedEngine: 'absent',
        credits: 'nested',
        emptyDays: 'zero',
        ungrouped: 'null',
        emptyShare: null,
      },
    },
    upstream: { names: { breakdown: 'splitBy' } },
  },
  'a row-mode parameter with an unknown name': {
    options: {
      seed: 4,
      choices: { openapi: 'absent', rowModeParameter: 'perEngine', credits: 'number', groupPrompts: 'all' },
    },
    upstream: { unasked: { breakdown: ['none'] } },
    warnings: [/row_mode=none/, /row_mode=none/],
  },
  'many pages per day': { options: { seed: 7, brands: 1, days: 4, responsesPerDay: 450 } },
};

describe('a sync stores the complete workspace', () => {
  test.for(Object.entries(variants))('with %s', async ([, { options, upstream, warnings = [] }]) => {
    const workspace = await openWorkspace(options);
    const first = await workspace.sync();
    expect(first).toMatchObject({ status: 'complete', error: null, failures: [], quarantined: 0 });
    expect(first.warnings.map(({ chain }) => chain)).toEqual(warnings.map((about) => expect.stringMatching(about)));
    const compared = await expectEqualToUpstream(workspace, upstream);
    const empty = Object.keys(compared).filter((table) => compared[table] === 0);
    expect(empty.filter((table) => table !== 'action_plan_actions')).toEqual([]);

    const before = await fingerprint(workspace);
    const second = await workspace.sync();
    expect(second.status).toBe('complete');
    expect(changesOf(second)).toEqual({});
    expect(await fingerprint(workspace)).toEqual(before);
  });

  test('with more days than the maximum range', async () => {
    const workspace = await openWorkspace({ seed: 6, brands: 1, prompts: 3, days: 370, responsesPerDay: 1 });
    // Daily reports need a request per day and show nothing more here.
    const isEachDay = ({ change }: ResourceDeclaration): boolean =>
      change.kind === 'report' && change.eachDay !== undefined;
    const asked = declarations.filter((declaration) => !isEachDay(declaration));
    const summary = await workspace.sync({ only: asked.map(({ name }) => name) });
    expect(summary).toMatchObject({ status: 'complete', failures: [], quarantined: 0 });
    const [first] = await workspace.query("SELECT strftime(min(created_at), '%Y-%m-%d') AS day FROM responses");
    expect(first?.['day']).toMatch(/^2025-03-/);
    const catalogue = createCatalogue(asked);
    await expectEqualToUpstream({ ...workspace, catalogue }, { declarations: asked });
  });

  test.for([null, '2026-03-10T00:00:00Z'])(
    'with history from before the creation date of a brand (%s)',
    async (createdAt) => {
      const toBrand = (brand: unknown): object => ({ ...(brand as object), createdAt });
      const listed = fixtures['brands'] as Answering;
      const single = fixtures['brand'] as Answering;
      const workspace = await openWorkspace({
        ...{ seed: 6, brands: 1, prompts: 2, days: 800, responsesPerDay: 1 },
        fixtures: {
          brands: { answer: (asked) => ({ data: (listed.answer(asked) as { data: unknown[] }).data.map(toBrand) }) },
          brand: { answer: (asked) => toBrand(single.answer(asked)) },
        },
      });
      const summary = await workspace.sync({ only: ['responses'] });
      expect(summary).toMatchObject({ status: 'complete', failures: [] });
      const [row] = await workspace.query(
        "SELECT strftime(min(created_at), '%Y') AS year, count(*) AS n FROM responses",
      );
      expect(row?.['year']).toBe('2024');
      expect(Number(row?.['n'])).toBeGreaterThan(700);
    },
  );

  test('without brands', async () => {
    const workspace = await openWorkspace({ brands: 0 });
    expect(await workspace.sync()).toMatchObject({ status: 'complete', failures: [] });
    expect(await workspace.query('SELECT count(*) AS brands FROM brands')).toEqual([{ brands: 0n }]);
  });
});

test('the comparison finds one changed value, a missing row, a duplicate row and a child in the wrong place', async () => {
  const workspace = await openWorkspace({ brands: 1, prompts: 4, days: 3 });
  await workspace.sync();
  await expectEqualToUpstream(workspace);
  const damages = [
    ["UPDATE prompts SET text = text || '.' WHERE id = (SELECT min(id) FROM prompts)", 'prompts'],
    ['DELETE FROM alerts WHERE id = (SELECT min(id) FROM alerts)', 'alerts'],
    ['INSERT INTO tags SELECT * FROM tags LIMIT 1', 'tags'],
    ['UPDATE response_citations SET ordinal = 1 - ordinal WHERE ordinal < 2', 'response_citations'],
    ['UPDATE articles SET markdown = NULL', 'articles'],
  ] as const;
  for (const [damage, table] of damages) {
    await workspace.query(`CREATE OR REPLACE TABLE kept AS FROM ${table}`);
    await workspace.query(damage);
    await expect(expectEqualToUpstream(workspace)).rejects.toThrow(`-> ${table} where`);
    await workspace.query(`DELETE FROM ${table}; INSERT INTO ${table} FROM kept`);
  }
  await expectEqualToUpstream(workspace);
});
