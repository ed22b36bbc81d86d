import { mkdir } from 'node:fs/promises';
import { startSandboxWorkspace } from '../../../schemas/fixtures/start.ts';
import { type Clock, systemClock } from '../../../src/base/clock.ts';
import { loadConfig, type WorkspaceConfig } from '../../../src/base/config/config.ts';
import { MART_SCHEMA, marts } from '../../../src/metrics/marts/marts.ts';
import { syncWorkspace } from '../../../src/operations/sync.ts';
import { layoutOf } from '../../../src/publish/snapshot/layout.ts';
import type { Session } from '../../../src/warehouse/database.ts';
import { publishAnalytics } from '../../../src/warehouse/replica.ts';
import { ensureViews } from '../../../src/warehouse/views.ts';
import { openWarehouse, type Warehouse } from '../../../src/warehouse/warehouse.ts';
import { builtInCatalogue as catalogue } from '../../../src/workspace/catalogues.ts';
import { generate } from '../../bench/generate.ts';
import { stillClock } from '../../serve/served-world.ts';
import { countOf } from '../../support/counts.ts';
import { NO_PROBES } from '../../support/no-probes.ts';
import { copyWorld, type World } from '../../support/worlds.ts';
import { openIn } from '../support.ts';
import type { ExampleIds } from './page-examples.ts';

/** Responses of the large world. */
const RESPONSES = countOf(2_000, 50_000);

/** Definitions of upstream that differ from those of the pages. */
export const OTHER_DEFINITIONS = {
  deletedCompetitors: 'counted',
  urlTitle: 'first',
  domainShare: { of: 'responses' },
  citationCount: 'pages',
} as const;

/** Ids that no world has, for pages of worlds without data. */
const NO_IDS: ExampleIds = {
  prompt: '00000000-0000-4000-8000-000000000001',
  response: '00000000-0000-4000-8000-000000000002',
  competitor: '00000000-0000-4000-8000-000000000003',
  domain: 'site.example',
  article: '00000000-0000-4000-8000-000000000004',
};

/** A workspace for the tests of all pages. */
export interface OpenedWorld {
  readonly config: WorkspaceConfig;
  readonly clock: Clock;
  readonly ids: ExampleIds;
  /** Name of the first brand; null without data. */
  readonly brand: string | null;
  close(): Promise<void>;
}

export interface PageWorld {
  readonly title: string;
  /** Default: some pages, another part in each world. */
  readonly shows?: 'all views' | 'views with notes';
  /** Whether pages are checked in one width and colour scheme and, in `npm test`, without axe, because another world has the same elements. */
  readonly hasOneLook?: true;
  /** Creates the workspace in a new folder. */
  readonly open: (folder: string) => Promise<OpenedWorld>;
}

/** Columns with names and other texts that people or engines write. */
const TEXTS = [
  'name',
  'text',
  'topic_name',
  'prompt',
  'title',
  'headline',
  'detail',
  'competitor',
  'summary',
  'evidence',
];
const ARTICLE_TEXTS = ['fact', 'topic', 'subforum', 'meta_description', 'primary_keyword', 'markdown', 'html'];
const ADDRESSES = ['url', 'target_url', 'website_url'];

const SCRIPT = `<script>window.hostile = 1</script><img src="x" onerror="window.hostile = 1">`;

export const PAGE_WORLDS: readonly PageWorld[] = [
  { title: 'empty', open: (folder) => openEmpty(folder) },
  { title: 'first sync running', open: (folder) => openRunning(folder) },
  { title: 'two ranges', shows: 'all views', open: (folder) => openChanged(folder, 'months') },
  {
    title: 'other definitions of measures',
    shows: 'views with notes',
    hasOneLook: true,
    open: async (folder) => {
      const { config, ...world } = await openChanged(folder, 'tiny');
      return { ...world, config: { ...config, conventions: OTHER_DEFINITIONS } };
    },
  },
  {
    title: 'first day, and no analytics connected',
    open: (folder) => openChanged(folder, 'tiny', keepToday),
  },
  { title: 'without competitors', open: (folder) => openChanged(folder, 'small', removeCompetitors) },
  {
    title: '42 brands, and right-to-left and CJK names of 400 characters',
    open: (folder) =>
      openChanged(folder, 'small', async (session) => {
        await rewrite(
          session,
          TEXTS,
          (text) =>
            `rpad(if(hash(${text}) % 2 = 0, 'شركة الأفق ', '株式会社地平線 ') || ${text} || ' ', 400, 'Wettbewerbsbeobachtung')`,
        );
        // After the brands with data in the order of their names.
        await session.run(`INSERT INTO main.brands BY NAME
          SELECT b.* REPLACE (uuid() AS id, 'ｚ ' || i AS name) FROM (FROM main.brands LIMIT 1) b, range(40) t(i)`);
      }),
  },
  {
    title: 'script in every text',
    shows: 'all views',
    hasOneLook: true,
    open: (folder) =>
      openChanged(folder, 'small', async (session) => {
        await rewrite(session, [...TEXTS, ...ARTICLE_TEXTS], (text) => `'${SCRIPT}' || ${text}`);
        await rewrite(session, ADDRESSES, (text) => `'javascript:window.hostile=1//' || ${text}`);
      }),
  },
  { title: `${RESPONSES.toLocaleString('en-US')} responses`, open: openLarge },
];

async function openEmpty(folder: string): Promise<OpenedWorld> {
  const config = configIn(folder, 'http://127.0.0.1:9/v1');
  await mkdir(config.folder, { recursive: true });
  return { config, clock: systemClock, ids: NO_IDS, brand: null, close: async () => undefined };
}

// Upstream permits 3 requests per minute, so that the lists of 5 brands, after which data are published, take many minutes.
async function openRunning(folder: string): Promise<OpenedWorld> {
  const sandbox = await startSandboxWorkspace({ brands: 5, prompts: 3, days: 20, rateLimit: 3 });
  const { config } = await openIn(folder, sandbox);
  const controller = new AbortController();
  const context = { config, clock: systemClock, signal: controller.signal, command: 'sync' };
  let running: Promise<unknown> = Promise.resolve();
  await new Promise<void>((resolve, reject) => {
    running = syncWorkspace(context, { only: null, range: null, brands: null }, () => resolve());
    running.catch(reject);
  });
  const close = async (): Promise<void> => {
    controller.abort();
    await running;
    await sandbox.close();
  };
  return { config, clock: systemClock, ids: NO_IDS, brand: null, close };
}

async function openChanged(
  folder: string,
  world: World,
  change: ((session: Session) => Promise<unknown>) | null = null,
): Promise<OpenedWorld> {
  await copyWorld(world, folder);
  const config = configIn(folder, 'http://127.0.0.1:9/v1');
  const warehouse = await openWarehouse(layoutOf(config.folder).warehouse, catalogue, {});
  try {
    if (change !== null) {
      await warehouse.database.exclusive(change);
      await ensureViews(warehouse.database, MART_SCHEMA, marts());
      await publishAnalytics(warehouse.database, layoutOf(config.folder).analytics);
    }
    return { config, clock: stillClock, ...(await readExamples(warehouse)), close: async () => undefined };
  } finally {
    await warehouse.close();
  }
}

async function openLarge(folder: string): Promise<OpenedWorld> {
  const generated = await generate(folder, RESPONSES);
  const config = { ...configIn(folder, 'http://127.0.0.1:9/v1'), folder: generated.folder };
  const warehouse = await openWarehouse(generated.warehouse, catalogue, {});
  try {
    return { config, clock: systemClock, ...(await readExamples(warehouse)), close: async () => undefined };
  } finally {
    await warehouse.close();
  }
}

function configIn(folder: string, baseUrl: string): WorkspaceConfig {
  const environment = {
    ...NO_PROBES,
    SIGHTLINE_BASE_URL: baseUrl,
    SIGHTLINE_API_KEY: 'gsk_0000000000000000000000000000000000000000',
  };
  return loadConfig({ flags: {}, environment, folder });
}

// The newest response of the first brand, its prompt and domain, and the first competitor and article.
async function readExamples({ database }: Warehouse): Promise<Pick<OpenedWorld, 'ids' | 'brand'>> {
  const [row = {}] = await database.exclusive((session) =>
    session.all(`WITH b AS (SELECT id, name FROM main.brands ORDER BY name, id LIMIT 1)
      SELECT b.name, CAST(c.response_id AS VARCHAR) AS response, CAST(c.prompt_id AS VARCHAR) AS prompt, c.domain,
        (SELECT CAST(min(id) AS VARCHAR) FROM main.competitors WHERE brand_id = b.id) AS competitor,
        (SELECT CAST(min(id) AS VARCHAR) FROM main.articles WHERE brand_id = b.id) AS article
      FROM b JOIN main.response_citations c ON c.brand_id = b.id
      SEMI JOIN main.prompts p ON p.id = c.prompt_id ORDER BY c.created_at DESC, c.response_id, c.ordinal LIMIT 1`),
  );
  const of = (name: keyof ExampleIds): string => String(row[name] ?? NO_IDS[name]);
  const ids = {
    prompt: of('prompt'),
    response: of('response'),
    competitor: of('competitor'),
    domain: of('domain'),
    article: of('article'),
  };
  return { ids, brand: String(row['name']) };
}

// Deletes all days but the last, which is not over, and the visits.
async function keepToday(session: Session): Promise<void> {
  for (const table of ['responses', 'response_competitors', 'response_citations'])
    await session.run(
      `DELETE FROM main.${table} WHERE created_at < (SELECT max(created_at) FROM main.responses)::DATE`,
    );
  await session.run('DELETE FROM main.traffic_daily; UPDATE main.traffic_totals SET connected = false');
}

async function removeCompetitors(session: Session): Promise<void> {
  await session.run('DELETE FROM main.competitors; DELETE FROM main.response_competitors');
}

/** Changes texts of all tables of upstream's data and of their histories; `changed` returns the SQL of a new value. */
async function rewrite(
  session: Session,
  columns: readonly string[],
  changed: (column: string) => string,
): Promise<void> {
  const found = await session.all(`SELECT table_name, string_agg(column_name, ',') AS names FROM duckdb_columns()
    WHERE schema_name = 'main' AND data_type = 'VARCHAR' AND table_name IN (SELECT table_name FROM duckdb_tables())
      AND column_name IN (${columns.map((column) => `'${column}'`).join()})
    GROUP BY table_name ORDER BY table_name`);
  for (const { table_name: table, names } of found) {
    const sets = String(names)
      .split(',')
      .map((name) => `"${name}" = ${changed(`"${name}"`)}`);
    await session.run(`UPDATE main."${String(table)}" SET ${sets.join()}`);
  }
}
