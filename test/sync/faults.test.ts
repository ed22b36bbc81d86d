import { describe, expect, test } from 'vitest';
import { FAULT_KINDS, type Fault, type FaultKind } from '../../src/sandbox/faults.ts';
import { expectConsistent, expectEqualToUpstream, expectNothingWrong, storedRanges } from '../support/compare.ts';
import { countOf } from '../support/counts.ts';
import { readUpstream } from '../support/upstream-truth.ts';
import { openWorkspace, type TestWorkspace } from '../support/workspace.ts';

// Short timeouts for silence; a body that trickles takes milliseconds.
const limits = { headersMs: 60, bodyMs: 60 };
/** Several windows with more than one page: a window survives expired cursors. */
const paged = { brands: 1, prompts: 3, days: 5, responsesPerDay: 130, chunkDelayMs: 1 } as const;
/** A list, one with pages, windows, details, reports and totals of ranges. */
const FORMS = ['prompts', 'alerts', 'responses', 'articles', 'article', 'metrics', 'metrics_daily', 'traffic'];

/** Columns that contain false values that upstream really sent during the fault. */
const falsified: Partial<Record<FaultKind, readonly string[]>> = {
  unknownfields: ['_extra', '_detail_extra', 'record'],
  wrongtypes: ['record', 'name'],
};

interface Group {
  readonly kinds: readonly FaultKind[];
  /** Occurrences of each kind; default 4. */
  readonly times?: number;
  /** Resources of the syncs; default all. */
  readonly only?: readonly string[];
  /** Whether the resources need pages with a cursor, which the world `tiny` does not have. */
  readonly isPaged?: true;
}

const groups: readonly Group[] = [
  {
    kinds: ['429', '500', '502', '503', 'badjson', 'norows', 'reset', 'truncate', 'hang', 'slowbody'],
    times: 2,
    only: FORMS,
  },
  { kinds: ['wrongtypes', 'unknownfields'], only: FORMS },
  { kinds: ['unknownenums'], only: ['alerts', 'articles', 'responses'] },
  { kinds: ['expiredcursor', 'stuckcursor', 'headinsert'], times: 1, only: ['responses'], isPaged: true },
];

describe('faults of upstream', () => {
  test('the tests cover every kind of fault', () => {
    expect(groups.flatMap(({ kinds }) => kinds).sort()).toEqual(Object.keys(FAULT_KINDS).sort());
  });

  test.for(groups.map((group) => [group.kinds.join(', '), group] as const))(
    '%s: a run stores no wrong values, and the next run stores the missing rows',
    async ([, { kinds, times = 4, only, isPaged = false }]) => {
      const workspace = await openWorkspace(isPaged ? paged : { world: 'tiny', chunkDelayMs: 1 });
      const chosen = only === undefined ? {} : { only };
      if (isPaged) await workspace.sync(chosen);
      const before = await truth(workspace, only);
      workspace.sandbox.advance({ lateAnswers: 2, editedResponses: 2, deletedResponses: 2, deletedPrompts: 1 });
      // Records of unspecified form are stored as they are, so damage in them cannot be detected.
      workspace.sandbox.setFaults(kinds.map((kind) => ({ kind, times, match: '/brands/' })));
      const summary = await workspace.sync({ ...chosen, limits, full: true });
      for (const kind of kinds) expect(workspace.sandbox.counts.byFault[kind], kind).toBeGreaterThan(0);
      expect(['complete', 'partial']).toContain(summary.status);
      expect(summary.failures.length > 0).toBe(summary.status === 'partial');
      expect(summary.quarantined > 0).toBe(kinds.includes('wrongtypes'));
      workspace.sandbox.setFaults([]);
      const truths = [before, await truth(workspace, only)];
      const columns = kinds.flatMap((kind) => falsified[kind] ?? []);
      if (!kinds.includes('unknownenums')) await expectNothingWrong(workspace, truths, columns);
      await expectConsistent(workspace);

      expect(await workspace.sync(chosen)).toMatchObject({ status: 'complete', failures: [] });
      await expectEqualToUpstream(workspace, chosen);
    },
  );

  test('all kinds at once, from an empty warehouse', async () => {
    const kinds = (Object.keys(FAULT_KINDS) as FaultKind[]).filter(
      (kind) => kind !== 'hang' && kind !== 'unknownenums',
    );
    const faults: Fault[] = kinds.map((kind) => ({ kind, probability: 0.03 }));
    const workspace = await openWorkspace({ ...paged, days: 2, faults, seed: 5 });
    for (let run = 0; run < countOf(1, 2); run++) {
      const { status } = await workspace.sync({ limits });
      // Only the first request, the list of brands, is required for a run.
      expect(['complete', 'partial', 'failed']).toContain(status);
      await expectConsistent(workspace);
    }
    workspace.sandbox.setFaults([]);
    expect(await workspace.sync()).toMatchObject({ status: 'complete' });
    await expectEqualToUpstream(workspace);
  });
});

/** Reads upstream's data; for chosen resources, only lists with pages: others are computed from responses that arrive meanwhile. */
async function truth(workspace: TestWorkspace, only: readonly string[] | undefined) {
  const { sandbox, catalogue } = workspace;
  const today = new Date(sandbox.world.now()).toISOString().slice(0, 10);
  const declarations = catalogue.resources.filter(({ name }) => only === undefined || only.includes(name));
  const totalsOf = storedRanges(workspace);
  return readUpstream({ baseUrl: sandbox.baseUrl, key: sandbox.key, today, declarations, totalsOf });
}
