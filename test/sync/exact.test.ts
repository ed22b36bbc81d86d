import { describe, expect, test } from 'vitest';
import type { WorkspaceOptions } from '../../schemas/fixtures/start.ts';
import { expectEqualToUpstream, fingerprint } from '../support/compare.ts';
import { IS_ENDURANCE } from '../support/counts.ts';
import type { Upstream } from '../support/upstream-truth.ts';
import { changesOf, openWorkspace } from '../support/workspace.ts';

const few = { brands: 1, prompts: 2, days: 3 } as const;

interface Variant {
  readonly options: WorkspaceOptions;
  readonly upstream?: Partial<Upstream>;
  /** Warnings of a complete run. */
  readonly warnings?: readonly RegExp[];
}

// Several choices for the points that the specification leaves open.
const variants: Record<string, Variant> = {
  'two brands, several pages per day, no description of itself, a number of credits': {
    options: { brands: 2, days: 2, responsesPerDay: 110, choices: { openapi: 'absent', credits: 'number' } },
  },
  'bare lists, bare engines, unknown fields, fractions, whole seconds, a row-mode parameter with an unknown name': {
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
        rowModeParameter: 'perEngine',
        groupPrompts: 'all',
      },
    },
    upstream: { unasked: { breakdown: ['none'] } },
    warnings: [/row_mode=none/],
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
};

describe('a sync stores the complete workspace', () => {
  test.for(Object.entries(variants))('with %s', async ([, { options, upstream, warnings = [] }]) => {
    const workspace = await openWorkspace({ ...few, ...options });
    const first = await workspace.sync();
    expect(first).toMatchObject({ status: 'complete', error: null, failures: [], quarantined: 0 });
    expect(first.warnings.map(({ slice }) => slice)).toEqual(warnings.map((about) => expect.stringMatching(about)));
    const compared = await expectEqualToUpstream(workspace, upstream);
    const empty = Object.keys(compared).filter((table) => compared[table] === 0);
    expect(empty.filter((table) => table !== 'action_plan_actions')).toEqual([]);

    // In `npm test`, test/sync/change.test.ts checks that the next sync changes nothing.
    if (!IS_ENDURANCE) return;
    const before = await fingerprint(workspace);
    const second = await workspace.sync();
    expect(second.status).toBe('complete');
    expect(changesOf(second)).toEqual({});
    expect(await fingerprint(workspace)).toEqual(before);
  });

  test('with more days than the maximum range', async () => {
    const workspace = await openWorkspace({ ...few, seed: 6, prompts: 2, days: 370, responsesPerDay: 1 });
    // Daily reports need a request per day and show nothing more here.
    const only = workspace.catalogue.resources.flatMap(({ name, query, change }) =>
      query['from'] !== undefined && !(change.kind === 'report' && change.eachDay !== undefined) ? [name] : [],
    );
    const summary = await workspace.sync({ only });
    expect(summary).toMatchObject({ status: 'complete', failures: [], quarantined: 0 });
    const [first] = await workspace.query("SELECT strftime(min(created_at), '%Y-%m-%d') AS day FROM responses");
    expect(first?.['day']).toMatch(/^2025-03-/);
    await expectEqualToUpstream(workspace, { only });
  });

  test('without brands', async () => {
    const workspace = await openWorkspace({ brands: 0 });
    expect(await workspace.sync()).toMatchObject({ status: 'complete', failures: [] });
    expect(await workspace.query('SELECT count(*) AS brands FROM brands')).toEqual([{ brands: 0n }]);
  });
});

test('the comparison finds one changed value, a missing row, a duplicate row and a child in the wrong place', async () => {
  const workspace = await openWorkspace({ world: 'tiny' });
  await expectEqualToUpstream(workspace);
  for (const damage of [
    "UPDATE prompts SET text = text || '.' WHERE id = (SELECT min(id) FROM prompts)",
    'DELETE FROM alerts WHERE id = (SELECT min(id) FROM alerts)',
    'INSERT INTO tags SELECT * FROM tags LIMIT 1',
    'UPDATE response_citations SET ordinal = 1 - ordinal WHERE ordinal < 2',
    'UPDATE articles SET markdown = NULL',
  ])
    await workspace.query(damage);
  const found = await expectEqualToUpstream(workspace).catch(String);
  for (const table of ['prompts', 'alerts', 'tags', 'response_citations', 'articles'])
    expect(found).toContain(`-> ${table} where`);
});
