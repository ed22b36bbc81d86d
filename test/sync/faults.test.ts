import { describe, expect, test } from 'vitest';
import { FAULT_KINDS, type Fault, type FaultKind } from '../../src/sandbox/faults.ts';
import { expectConsistent, expectEqualToUpstream, expectNothingWrong } from '../support/compare.ts';
import { readUpstream } from '../support/upstream-truth.ts';
import { openWorkspace, type TestWorkspace } from '../support/workspace.ts';

// Short timeouts for silence; a body that trickles takes milliseconds.
const limits = { headersMs: 60, bodyMs: 60 };
const small = { brands: 1, prompts: 4, days: 3, responsesPerDay: 130, chunkDelayMs: 1 } as const;

/** Columns that contain false values that upstream really sent during the fault. */
const bent: Partial<Record<FaultKind, readonly string[]>> = {
  unknownfields: ['_extra', '_detail_extra', 'record'],
  wrongtypes: ['record', 'name'],
};

/** Occurrences per run; 4, except for faults that need a page with a cursor. */
const times: Partial<Record<FaultKind, number>> = { expiredcursor: 2, stuckcursor: 2, headinsert: 2 };

const groups: readonly (readonly FaultKind[])[] = [
  ['429', '500', '502', '503', 'badjson', 'norows'],
  ['reset', 'truncate', 'hang', 'slowbody'],
  ['wrongtypes', 'unknownfields'],
  ['unknownenums'],
  ['expiredcursor', 'stuckcursor'],
  ['headinsert'],
];

describe('faults of upstream', () => {
  test('the tests cover every kind of fault', () => {
    expect(groups.flat().sort()).toEqual(Object.keys(FAULT_KINDS).sort());
  });

  test.for(groups.map((kinds) => [kinds] as const))(
    '%j: a run stores no wrong values, and the next run stores the missing rows',
    async ([kinds]) => {
      // A window survives one expired cursor, so several windows with more than one page are needed.
      const isPaged = kinds.some((kind) => times[kind] !== undefined);
      const workspace = await openWorkspace({
        ...small,
        seed: kinds.length,
        ...(isPaged ? { days: 9 } : {}),
      });
      await workspace.sync();
      const before = await truth(workspace);
      workspace.sandbox.advance({ lateAnswers: 2, editedResponses: 2, deletedResponses: 2, deletedPrompts: 1 });
      // Records of unspecified form are stored as they are, so damage in them cannot be detected.
      workspace.sandbox.setFaults(kinds.map((kind) => ({ kind, times: times[kind] ?? 4, match: '/brands/' })));
      const summary = await workspace.sync({ limits, full: true });
      for (const kind of kinds) expect(workspace.sandbox.counts.byFault[kind], kind).toBeGreaterThan(0);
      expect(['complete', 'partial']).toContain(summary.status);
      expect(summary.failures.length > 0).toBe(summary.status === 'partial');
      expect(summary.quarantined > 0).toBe(kinds.includes('wrongtypes'));
      workspace.sandbox.setFaults([]);
      const truths = [before, await truth(workspace)];
      // Other lists are computed from responses that arrive meanwhile.
      const hasPages = (resource: string): boolean => workspace.catalogue.get(resource).paging === 'cursor';
      const still = truths.map((parts) =>
        kinds.includes('headinsert') ? parts.filter(({ resource }) => hasPages(resource)) : parts,
      );
      if (!kinds.includes('unknownenums'))
        await expectNothingWrong(
          workspace,
          still,
          kinds.flatMap((kind) => bent[kind] ?? []),
        );
      await expectConsistent(workspace);

      expect(await workspace.sync()).toMatchObject({ status: 'complete', failures: [] });
      await expectEqualToUpstream(workspace);
    },
  );

  test('all kinds at once, from an empty warehouse', async () => {
    const kinds = (Object.keys(FAULT_KINDS) as FaultKind[]).filter(
      (kind) => kind !== 'hang' && kind !== 'unknownenums',
    );
    const faults: Fault[] = kinds.map((kind) => ({ kind, probability: 0.03 }));
    const workspace = await openWorkspace({ ...small, faults, seed: 5 });
    for (let run = 0; run < 3; run++) {
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

async function truth({ sandbox }: TestWorkspace) {
  const today = new Date(sandbox.world.now()).toISOString().slice(0, 10);
  return readUpstream({ baseUrl: sandbox.baseUrl, key: sandbox.key, today });
}
