// @ts-check
// Syncs the newest responses of a workspace, verifies them and prints responses and mentions per engine.
//
//     SIGHTLINE_BASE_URL=... SIGHTLINE_API_KEY=... node digest.mjs
//
// `sightline sandbox` prints both variables of a generated workspace.
import {
  backup,
  calibration,
  compare,
  exportSnapshot,
  openContext,
  plan,
  query,
  report,
  SightlineError,
  status,
  sync,
  verify,
} from '@sightline-mirror/sightline';

const DAY_MS = 86_400_000;

/** @param {number} epochMs */
const dayOf = (epochMs) => new Date(epochMs).toISOString().slice(0, 10);

const DIGEST = `
  SELECT engine, count(*) AS responses, count(*) FILTER (brand_mentioned) AS mentions
  FROM responses WHERE _deleted_at IS NULL GROUP BY engine ORDER BY engine`;

/** Prints the digest. */
async function main() {
  // New files of the data folder are readable by this user only, like those of the commands.
  process.umask(0o077);
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort(new SightlineError('interrupted', 'stopped')));
  const context = openContext({ command: 'digest', signal: stop.signal, onTrouble: console.error });

  const now = Date.now();
  const options = { only: ['brands', 'responses'], range: { from: dayOf(now - 7 * DAY_MS), to: dayOf(now) } };
  const { requests } = await plan(context, options);
  console.log(`planned: ${requests} requests`);
  const summary = await sync(context, options);
  console.log(`synced: ${summary.status}, ${summary.requests} requests`);
  if (summary.status !== 'complete') throw summary.error ?? new Error(summary.failures[0]?.message ?? summary.status);

  const { brands } = await verify(context, { range: options.range });
  for (const { brandId, days } of brands) {
    const differing = days.filter((day) => day.status === 'differs');
    console.log(`brand ${brandId}: ${differing.length} of ${days.length} days differ`);
  }

  const { questions } = await compare(context, { requests: 10, resources: ['responses'] });
  console.log(
    `compared: ${questions.filter(({ verdict }) => verdict === 'equal').length} of ${questions.length} equal`,
  );
  const open = (await calibration(context)).filter(({ state }) => state === 'undetermined');
  console.log(`undetermined: ${open.length} points`);

  const [result] = await query(context, DIGEST, { timeoutMs: 10_000 });
  for (const [engine, responses, mentions] of result?.rows ?? []) {
    console.log(`${engine}: ${responses} responses, ${mentions} mention the brand`);
  }

  const snapshot = await exportSnapshot(context, { compression: 'zstd' });
  console.log(`snapshot ${snapshot.id}: ${snapshot.tables.length} tables in ${snapshot.path}`);
  const pages = await report(context, { weeks: 4 });
  console.log(`reports: ${pages.map(({ page }) => page).join(', ')}`);
  const copy = await backup(context, { file: `${context.config.folder}-backup.duckdb`, force: true });
  console.log(`backup: ${copy.rows} rows in ${copy.path}`);
  const { asOf } = await status(context);
  console.log(`data as of ${asOf}`);

  // SQL of a program is read-only, like that of `sightline sql`.
  await query(context, 'DELETE FROM responses').catch((thrown) => {
    if (!(thrown instanceof SightlineError) || thrown.code !== 'sql_rejected') throw thrown;
    console.log(`rejected: ${thrown.code}`);
  });
}

await main();
