import { spawnSync } from 'node:child_process';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Brand, promptsOf } from '../../../schemas/fixtures/world/model.ts';
import { loadConfig } from '../../../src/base/config/config.ts';
import { syncWorkspace } from '../../../src/operations/sync.ts';
import { layoutOf } from '../../../src/publish/snapshot/layout.ts';
import { listSnapshots } from '../../../src/publish/snapshot/manifest.ts';
import { NOW_MS } from '../../support/clocks.ts';
import { temporaryFolder } from '../../support/folders.ts';
import { testWith } from '../../support/needs.ts';
import { NO_PROBES } from '../../support/no-probes.ts';
import { copyWorld, startWorldSandbox, worldClock } from '../../support/worlds.ts';
import { serveWorld, sharedBefore } from '../served-world.ts';

const deploy = new URL('../../../docs/deploy/', import.meta.url);
const NAME = /\b(?:sightline|process|nodejs)_[a-z0-9_]+/g;
const noPromtool = spawnSync('promtool', ['--version']).error === undefined ? null : 'promtool is not installed';

const served = sharedBefore(async (closeLater) => {
  const sandbox = await startWorldSandbox('tiny');
  closeLater(() => sandbox.close());
  const folder = await temporaryFolder(closeLater);
  const environment = { ...NO_PROBES, SIGHTLINE_BASE_URL: sandbox.baseUrl, SIGHTLINE_API_KEY: sandbox.key };
  const config = loadConfig({ flags: {}, environment, folder });
  const server = await serveWorld(config, { metricsPort: 0, pages: 'off', runsJobs: true });
  closeLater(server.close);
  return { sandbox, config, metricsUrl: server.metricsUrl ?? '' };
});

async function scrape(): Promise<{ text: string; value: (series: string) => number | null }> {
  const answer = await fetch(served().metricsUrl);
  expect(answer.status).toBe(200);
  const text = await answer.text();
  const values = new Map(
    text.split('\n').flatMap((line): [string, number][] => {
      const [, name = '', labels = '', value] = /^([a-z0-9_]+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
      return value === undefined ? [] : [[`${name}{${labels.replace(/,?workspace="default"/, '')}}`, Number(value)]];
    }),
  );
  return { text, value: (series) => values.get(series.includes('{') ? series : `${series}{}`) ?? null };
}

describe('the metrics of a workspace', () => {
  it('report missing data without failing or reporting 0', async () => {
    const { text, value } = await scrape();
    expect(value('sightline_replica_readable')).toBe(0);
    expect(value('sightline_sync_running')).toBe(0);
    expect(value('sightline_sync_last_complete_timestamp_seconds')).toBeNull();
    expect(text).toContain('workspace="default"');
  });

  it('report the state of sync, budget, freshness, warehouse and jobs', async () => {
    const { config, sandbox } = served();
    await copyWorld('tiny', join(config.folder, '../..'));
    const { signal } = new AbortController();
    const context = { config, clock: worldClock(), signal, command: 'sync' };
    const summary = await syncWorkspace(context, { only: null, range: null, brands: null }, () => undefined);
    expect(summary.status).toBe('complete');
    const [snapshot] = await listSnapshots(layoutOf(config.folder).snapshots);
    const { text, value } = await scrape();
    const brand = sandbox.world.brands[0]?.id ?? '';
    const changes = Object.values(summary.tables);
    const exact: Record<string, number> = {
      sightline_replica_readable: 1,
      'sightline_sync_last_status{status="complete"}': 1,
      'sightline_sync_last_status{status="failed"}': 0,
      'sightline_sync_runs_total{status="complete"}': 2,
      sightline_sync_failures_in_a_row: 0,
      sightline_sync_last_requests: summary.requests,
      'sightline_sync_last_rows{change="inserted"}': changes.reduce((sum, { inserted }) => sum + inserted, 0),
      'sightline_upstream_requests_total{status="429"}': 0,
      'sightline_table_rows{table="prompts"}': promptsOf(sandbox.world.brands[0] as Brand).length,
      [`sightline_calendar_states{brand="${brand}",state="missing"}`]: 0,
      'sightline_quarantined_items{resource="responses"}': 0,
      'sightline_drift_findings{kind="new_value"}': 0,
      sightline_brands: 1,
      sightline_snapshots: 1,
      sightline_budget_limit_requests: 10_000,
      'sightline_budget_used_requests{window="1h"}': value('sightline_upstream_requests_total{status="200"}') ?? -1,
      'sightline_job_enabled{job_name="nightly"}': 1,
      'sightline_job_missed{job_name="nightly"}': 0,
    };
    expect(summary.requests).toBeGreaterThan(10);
    expect(value('sightline_upstream_requests_total{status="200"}')).toBeGreaterThan(summary.requests);
    for (const [series, expected] of Object.entries(exact)) expect(value(series), series).toBe(expected);
    const rows = snapshot?.tables.reduce((sum, table) => sum + table.rows, 0);
    expect(value('sightline_snapshot_rows')).toBe(rows);
    const now = NOW_MS / 1000;
    for (const moment of [
      'sightline_sync_last_complete_timestamp_seconds',
      `sightline_read_timestamp_seconds{resource="responses",brand="${brand}"}`,
      'sightline_snapshot_timestamp_seconds',
    ]) {
      expect(Math.abs(now - (value(moment) ?? 0)), moment).toBeLessThan(600);
    }
    expect(value('sightline_job_next_due_timestamp_seconds{job_name="nightly"}')).toBeGreaterThan(now);
    for (const part of ['warehouse', 'replica', 'snapshots', 'raw']) {
      expect(value(`sightline_storage_bytes{part="${part}"}`), part).toBeGreaterThan(0);
    }
    expect(text).not.toContain(sandbox.key);
  });

  it('include every metric that the dashboard and the alert rules use', async () => {
    const { text } = await scrape();
    const types = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)];
    const known = new Set(
      types.flatMap(([, name = '', type]) =>
        type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
      ),
    );
    const dashboard = await readFile(new URL('grafana-dashboard.json', deploy), 'utf8');
    const rules = await readFile(new URL('alert-rules.yaml', deploy), 'utf8');
    const { panels } = JSON.parse(dashboard) as { panels: { targets?: { expr: string }[] }[] };
    const asked = panels.flatMap(({ targets = [] }) => targets.flatMap(({ expr }) => expr.match(NAME) ?? []));
    expect(asked.length).toBeGreaterThan(40);
    expect([...new Set([...asked, ...(rules.match(NAME) ?? [])])].filter((name) => !known.has(name))).toEqual([]);
    // Prometheus adds these two labels to all series and renames ours; `route` appears with the first request.
    const labels = new Set(['route', ...[...text.matchAll(/[{,](\w+)="/g)].map(([, label]) => label)]);
    for (const taken of ['job', 'instance']) expect(labels).not.toContain(taken);
    const shown = [...`${dashboard}${rules}`.matchAll(/\{\{ *(?:\$labels\.)?(\w+) *\}\}/g)].map(([, label]) => label);
    expect(shown.filter((label) => !labels.has(label))).toEqual([]);
  });

  it('each have a line that explains them', async () => {
    const { text } = await scrape();
    const named = (pattern: RegExp): string[] => [...text.matchAll(pattern)].map(([, name = '']) => name).sort();
    expect(named(/^# HELP (\S+) \S.{8,}$/gm)).toEqual(named(/^# TYPE (\S+) \S+$/gm));
  });

  testWith(noPromtool)('pass promtool', async () => {
    const { text } = await scrape();
    const metrics = spawnSync('promtool', ['check', 'metrics'], { input: text, encoding: 'utf8' });
    const said = metrics.stderr.split('\n').filter((line) => line.includes('sightline_'));
    expect(said).toEqual([]);
    const rules = spawnSync('promtool', ['check', 'rules', new URL('alert-rules.yaml', deploy).pathname]);
    expect(rules.status, rules.stdout.toString()).toBe(0);
  });

  it('report a damaged replica and continue with the previous one', async () => {
    const { analytics } = layoutOf(served().config.folder);
    await writeFile(`${analytics}.damaged`, 'this is no database');
    await rename(`${analytics}.damaged`, analytics);
    const { value } = await scrape();
    expect(value('sightline_replica_readable')).toBe(0);
    expect(value('sightline_sync_last_status{status="complete"}')).toBe(1);
  });
});
