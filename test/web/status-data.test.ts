import { copyFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { toSightlineError } from '../../src/base/errors.ts';
import { createRunClock } from '../../src/contract/plausibility/run-clock.ts';
import { addDays, DAY_MS, dayOf } from '../../src/contract/time.ts';
import { openJobLog } from '../../src/jobs/job-log.ts';
import { defineJob } from '../../src/jobs/job.ts';
import { readCalibration } from '../../src/operations/calibration.ts';
import { readWorkspaceStatus } from '../../src/operations/status.ts';
import { verdictOf } from '../../src/operations/verdict.ts';
import { verifyWorkspace } from '../../src/operations/verify.ts';
import { layoutOf } from '../../src/publish/snapshot/layout.ts';
import { listSnapshots } from '../../src/publish/snapshot/manifest.ts';
import { readCalendars } from '../../src/read/calendar.ts';
import { createKey, revokeKey } from '../../src/serve/auth/keys.ts';
import { builtInCatalogue as catalogue } from '../../src/workspace/catalogues.ts';
import { stillClock } from '../serve/served-world.ts';
import { NOW_MS, virtualClock } from '../support/clocks.ts';
import { temporaryFolder } from '../support/folders.ts';
import { openWorkspace } from '../support/workspace.ts';
import { eventsOf, openIn, serveStatus, worldBefore } from './support.ts';

const workspace = worldBefore('small');

describe('the data of the status page', () => {
  it('match `sightline status`, with runs, days, snapshots, jobs and keys', async () => {
    const { config } = workspace();
    const { signal } = new AbortController();
    const context = { config, clock: stillClock, signal, command: 'test' };
    await verifyWorkspace(context, { brands: null, range: null, fresh: false, repair: false }, () => undefined);
    const [snapshot] = await listSnapshots(layoutOf(config.folder).snapshots);
    const server = await serveStatus(workspace());
    const response = await server.ask('/status/data');
    expect(response.headers.get('cache-control')).toBe('no-store');
    const text = await response.text();
    expect(text).not.toContain(workspace().key);
    expect(text).not.toContain('hash');
    const { replica, replicaState, findings, keys, jobs, snapshots, progress, budget } = await server.data();
    const { data } = await readWorkspaceStatus(config, stillClock);
    expect(replica?.status).toEqual(data);
    expect(replicaState).toBe('current');
    expect(findings[0]).toMatchObject({ level: 'good' });
    expect(replica?.runs.map(({ status }) => status)).toEqual(['complete']);
    // The limit is that of an earlier sync.
    expect(budget).toMatchObject({ limit: 10_000, isDocumented: false, left: null });
    expect(budget.minutes).toHaveLength(60);
    expect(budget.minutes.reduce((sum, requests) => sum + requests, 0)).toBe(replica?.runs[0]?.requests);
    expect(progress).toBeNull();
    expect(keys).toMatchObject([{ name: 'test', prefix: workspace().key.slice(0, 12) }]);
    expect(jobs.map(({ name }) => name)).toContain('nightly');
    for (const job of jobs) expect(Date.parse(job.next ?? '')).toBeGreaterThan(NOW_MS);
    expect(snapshots).toMatchObject({ latest: snapshot?.id, all: 1, newest: [{ id: snapshot?.id }] });
    const brands = data?.brands ?? [];
    expect(replica?.calendars.map(({ brandId }) => brandId)).toEqual(brands.map(({ brandId }) => brandId));
    for (const { months, counts } of replica?.calendars ?? []) {
      const letters = months.map(({ days }) => days).join('');
      expect(letters.length).toBeLessThanOrEqual(13 * 31);
      expect([...letters].filter((letter) => letter === 'v')).toHaveLength(counts.verified);
      expect(counts.verified).toBeGreaterThan(5);
      expect(counts).toMatchObject({ missing: 0, differs: 0 });
      expect(letters.at(-1)).toBe('p');
    }
    const { value: points } = await readCalibration(config, null);
    expect(replica?.points.length).toBe(points.length);
    for (const point of replica?.points ?? []) expect(points).toContainEqual(expect.objectContaining(point));
    expect(replica?.points).toContainEqual(
      expect.objectContaining({ name: 'visibility', state: 'determined', text: 'percent, 1 decimal, half-away' }),
    );
    const names = catalogue.resources.filter(({ change }) => change.kind !== 'detail').map(({ name }) => name);
    expect(replica?.freshness.map(({ resource }) => resource)).toEqual(names);
    for (const { readAt, partial, scope } of replica?.freshness ?? []) {
      expect(readAt).toHaveLength(scope === 'brand' ? brands.length : 1);
      expect(partial).toBe('0'.repeat(readAt.length));
    }
  });

  it('announce changes: a sync and its result, a job, a key', async () => {
    const { config, sync } = workspace();
    const server = await serveStatus(workspace());
    const next = eventsOf(await server.ask('/status/events'));
    const untilChanged = async (what: string): Promise<string[]> => {
      const events: string[] = [];
      for (let event = await next(); event !== null; event = await next()) {
        events.push(event.event);
        if (event.event === 'changed' && (event.data as string[]).includes(what)) return events;
      }
      throw new Error('the stream ended');
    };
    const before = (await server.data()).replica?.status.lastRun?.runId;
    await sync(['prompts']);
    expect(await untilChanged('data')).toContain('changed');
    expect((await server.data()).replica?.status.lastRun?.runId).not.toBe(before);
    await createKey(config.folder, 'second', null, stillClock.now());
    await untilChanged('keys');
    await revokeKey(config.folder, 'second');
    const job = defineJob({ name: 'nightly', about: '', cron: '15 2 * * *', steps: [{ do: 'export' }] });
    const at = new Date(NOW_MS).toISOString();
    const step = { step: 'export', status: 'failed', exitCode: 1, durationMs: 5, error: 'no room left' } as const;
    await openJobLog(config.folder).add(job, {
      job: 'nightly',
      dueAt: null,
      startedAt: at,
      endedAt: at,
      status: 'failed',
      exitCode: 1,
      steps: [step],
    });
    await untilChanged('jobs');
    expect((await server.data()).findings[0]).toMatchObject({
      level: 'problem',
      sentence: 'The job nightly failed: export: no room left.',
      command: 'sightline jobs run nightly',
    });
  });
});

describe('the state of a workspace', () => {
  it('is reported without a sync and with a damaged replica', async () => {
    const empty = await openIn(await temporaryFolder(), workspace().sandbox, stillClock);
    const server = await serveStatus(empty);
    expect(await server.data()).toMatchObject({
      replicaState: 'none',
      replica: null,
      findings: [{ level: 'attention', sentence: 'No data synced yet.', command: 'sightline sync' }],
    });
    const { analytics } = layoutOf(empty.config.folder);
    const aside = join(await temporaryFolder(), 'replica');
    await copyFile(layoutOf(workspace().config.folder).analytics, aside);
    await writeFile(analytics, 'no database at all');
    expect(await server.data()).toMatchObject({
      replicaState: 'unreadable',
      replica: null,
      findings: [{ level: 'problem', command: 'sightline doctor --fix' }],
    });
    await rm(analytics);
    await copyFile(aside, analytics);
    expect(await server.data()).toMatchObject({ replicaState: 'current' });
    await rm(analytics);
    await writeFile(analytics, 'damaged again');
    const damaged = await server.data();
    expect(damaged).toMatchObject({ replicaState: 'outdated', findings: [{ level: 'problem' }] });
    expect(damaged.replica).not.toBeNull();
    await writeFile(join(empty.config.folder, 'keys.json'), '{');
    // All keys are rejected now.
    expect((await server.ask('/status/data')).status).toBe(500);
  });

  it('distinguishes complete, partial, missing, differing and verified days', async () => {
    const { query, warehouse, catalogue: known } = await openWorkspace({ world: 'small' });
    const [brand] = await query('SELECT CAST(id AS VARCHAR) AS id FROM brands');
    const id = String(brand?.['id']);
    const today = dayOf(NOW_MS);
    const day = (back: number): string => addDays(today, -back);
    await query(`DELETE FROM sync.coverage WHERE resource = 'responses'`);
    await query(`DELETE FROM sync.audits`);
    const cover = (from: string, to: string, at: string) =>
      query(
        `INSERT INTO sync.coverage SELECT 'x ${from}', 'responses', '${id}', DATE '${from}', DATE '${to}', uuid(), uuid(), TIMESTAMP '${at}', 1, NULL`,
      );
    await cover(day(6), day(4), `${day(1)} 10:00:00`);
    await cover(day(3), day(3), `${day(3)} 10:00:00`);
    await cover(day(0), day(0), `${day(0)} 10:00:00`);
    const verify = (date: string, agrees: boolean) =>
      query(
        `INSERT INTO sync.verifications SELECT TIMESTAMP '${day(0)} 11:00:00', NULL, '${id}', DATE '${date}', 'day', NULL, 1, 1, ${agrees}`,
      );
    await verify(day(6), true);
    await verify(day(5), false);
    await query(
      `INSERT INTO sync.audits SELECT 'responses', '${id}', DATE '${day(1)}', TIMESTAMP '${day(0)} 09:00:00', true, 0, 0, '', NULL, 0, NULL`,
    );
    const calendars = await warehouse().database.exclusive((session) =>
      readCalendars((sql) => session.query(sql), known, [{ id, since: day(7) }], NOW_MS),
    );
    // 8 to 15 March: missing, verified, differs, complete, partial, missing, complete by its count, and today.
    expect(calendars[0]?.months).toEqual([{ month: '2026-03', days: `${'.'.repeat(7)}mvdcpmcp` }]);
    expect(calendars[0]?.counts).toEqual({ verified: 1, complete: 2, partial: 2, differs: 1, missing: 2 });
  });

  it('lists the most urgent findings first, each with a command', async () => {
    const { data } = await readWorkspaceStatus(workspace().config, stillClock);
    if (data?.lastRun === undefined || data.lastRun === null) throw new Error('no sync has run');
    const startedAt = '2026-03-01T00:00:00.000Z';
    const unresolved = { runId: 'r', status: 'failed', startedAt, error: 'no answer' } as const;
    const freshness = { ...data.freshness, asOf: startedAt, neverRead: [], neverReadCount: 0, unresolved };
    const whole = { ...data, differing: [], unconfirmedDeletions: [], unlearned: [], comparison: null, backfill: [] };
    const drift = { resource: 'r', path: 'p', kind: 'k', detail: null, count: 1, firstSeenAt: '', isNew: true };
    const status = {
      ...{ ...whole, freshness, quarantined: 1, drift: [drift] },
      lastRun: { ...data.lastRun, status: 'failed', error: 'no answer' },
      brands: data.brands.slice(0, 1).map((one) => ({ ...one, differingDays: 2 })),
      resources: data.resources.slice(0, 1).map((one) => ({ ...one, gapDays: 3 })),
      key: { state: 'refused', lastRefusal: { status: 401, at: '' } } as const,
    };
    const facts = { nowMs: NOW_MS, workspace: 'acme', replica: 'current', why: null, progress: null } as const;
    const judged = { ...facts, status, jobs: [], destinations: [], isOwned: false };
    const keys = [{ name: 'old', expiresAt: new Date(NOW_MS + 1000).toISOString() }];
    const { findings: found } = verdictOf({ ...judged, keys });
    expect(found.map(({ level }) => level)).toEqual(['problem', ...Array(5).fill('attention')]);
    expect(found.map(({ command }) => command)).toEqual([
      'sightline doctor --workspace acme',
      'sightline verify --repair --workspace acme',
      'sightline sync --workspace acme',
      'sightline sql "from sync.quarantine" --workspace acme',
      'sightline sql "from sync.drift" --workspace acme',
      'sightline keys create NAME --workspace acme',
    ]);
    for (const { sentence } of found) expect(sentence).toMatch(/^[A-Z"0-9].*[.]$/);
    // A sync that stopped because of the clock would fail again.
    const ahead = NOW_MS + 2 * DAY_MS;
    const clock = createRunClock(virtualClock(NOW_MS));
    const stopped = await clock.agree(ahead, async () => ahead).then(() => null, toSightlineError);
    const error = stopped?.message ?? null;
    const accepted = { state: 'accepted', lastRefusal: null } as const;
    const apart = { ...status, key: accepted, freshness: { ...freshness, unresolved: { ...unresolved, error } } };
    expect(verdictOf({ ...judged, status: apart, keys: [] }).findings[0]).toMatchObject({
      sentence: expect.stringMatching(
        /^The last sync failed: upstream's clock is at .* Correct the clock of this machine/,
      ),
      command: null,
    });
    // A sync that runs does not make old data recent, and nothing is called complete before it has ended.
    const amounts = { requests: 1, retries: 0, waitedMs: 0, rows: 1, done: 1, expected: 9, secondsToGo: 1 };
    const times = { command: 'sync', pid: 1, startedAt, updatedAt: startedAt };
    const progress = { ...times, ...amounts, budget: { limit: 1, capacity: 1, left: 1 }, resources: [] };
    const sound = { ...status, brands: [], resources: [], quarantined: 0, drift: [] } as const;
    const stale = verdictOf({ ...judged, status: sound, keys: [], progress });
    expect(stale.findings.map(({ level }) => level)).toEqual(['attention', 'busy']);
    const recent = { ...freshness, asOf: new Date(NOW_MS).toISOString() };
    const current = verdictOf({ ...judged, status: { ...sound, freshness: recent }, keys: [], progress });
    expect(current.findings.map(({ sentence }) => sentence)).toEqual(['A sync is running.']);
  });
});
