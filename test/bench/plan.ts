import { declarations } from '../../schemas/catalogue.ts';
import { systemClock } from '../../src/base/clock.ts';
import { createCatalogue } from '../../src/contract/catalogue.ts';
import { addDays } from '../../src/contract/time.ts';
import { planSync } from '../../src/sync/plan/estimate.ts';
import { countDays, createNextPlanner } from '../../src/sync/plan/plan-next.ts';
import { planBrand, planWorkspace } from '../../src/sync/plan/plan-slices.ts';
import { planWindows } from '../../src/sync/plan/plan-windows.ts';
import { readBrands } from '../../src/sync/run-brands.ts';
import { readContext } from '../../src/sync/run-context.ts';
import { writeAudits } from '../../src/warehouse/ledger/audits.ts';
import { openWarehouse, type Warehouse } from '../../src/warehouse/warehouse.ts';
import { type Generated, generate } from './generate.ts';
import { medianMs } from './measure.ts';

const BRANDS = 50;
const DAYS = 366;
const PAGES_UNDER_WAY = 400;
const REPEATS = 5;

/**
 * Plans a sync of 50 brands with 366 days and 500 prompts each, with `responses` stored responses, three times: the pure
 * plan alone, with the counts it needs, and from a file with an interrupted run. The baseline counts responses by day in
 * bare SQL.
 */
export async function planFigures(folder: string, responses: number): Promise<string[]> {
  const generated = await generate(folder, responses, BRANDS);
  const warehouse = await open(generated);
  try {
    const pure = await medianMs(REPEATS, await decisions(warehouse, generated.today));
    const first = await medianMs(1, () => countAll(warehouse, generated.today));
    const counted = await medianMs(REPEATS, () => planAll(warehouse));
    const bare = await medianMs(REPEATS, () =>
      warehouse.database.exclusive((session) =>
        session.all('SELECT brand_id, CAST(created_at AS DATE), engine, count(*) FROM responses GROUP BY ALL'),
      ),
    );
    await stopMidway(warehouse, generated.today);
    await warehouse.close();
    const resumed = await medianMs(REPEATS, async () => {
      const again = await open(generated);
      await begin(again);
      await again.close();
    });
    return [
      `planning for ${BRANDS} brands, ${DAYS} days, 500 prompts each, ${responses.toLocaleString('en-US')} answers held`,
      `  the pure plan: due days and windows                           ${pure.toFixed(0)} ms`,
      `  the plan with its queries for changes                         ${counted.toFixed(0)} ms`,
      `  all answers by brand, day and engine, in one statement        ${bare.toFixed(0)} ms`,
      `  all days counted against upstream, which a first sync does    ${first.toFixed(0)} ms`,
      `  from the closed file to the first request of a stopped run    ${resumed.toFixed(0)} ms`,
    ];
  } finally {
    await warehouse.close();
  }
}

const catalogue = createCatalogue(declarations);
const parts = { catalogue, connections: 8, clock: systemClock, signal: new AbortController().signal };
const windowed = catalogue.resources.filter(({ change }) => change.kind === 'window');
const options = { only: null, range: null, brands: null };

function open({ warehouse }: Generated): Promise<Warehouse> {
  return openWarehouse(warehouse, catalogue, { memoryLimitMb: 96, threads: 1 });
}

// Day counts equal to the stored responses, except for one day in ten.
async function decisions(warehouse: Warehouse, today: string): Promise<() => Promise<void>> {
  const context = await readContext({ ...parts, warehouse }, options, null, Date.now());
  const brands = await readBrands({ catalogue, warehouse });
  const days = Array.from({ length: DAYS }, (_, index) => {
    const isOff = index % 10 === 0;
    return { day: addDays(today, 1 - DAYS + index), upstream: 2_000, held: isOff ? 1_999 : 2_000, agreed: !isOff };
  }).map((day) => ({ ...day, figures: day.day }));
  const counted = { days, audits: new Map() };
  return async () => {
    for (const brand of brands) {
      planBrand(catalogue, brand, context);
      for (const resource of windowed) planWindows(resource, brand, counted, context);
    }
  };
}

async function countAll(warehouse: Warehouse, today: string): Promise<void> {
  const { database } = warehouse;
  const brands = await readBrands({ catalogue, warehouse });
  for (const brand of brands) {
    for (const resource of windowed) {
      const { days } = await countDays({ catalogue, database }, resource, brand, today);
      if (days.length !== DAYS) throw new Error(`${days.length} days were counted; expected ${DAYS}`);
      const audits = days.map((day) => ({ ...day, tries: 0, retryAt: null }));
      await writeAudits(database, resource.name, brand.id, audits, Date.now());
    }
  }
}

async function planAll(warehouse: Warehouse): Promise<void> {
  const plan = await planSync({ ...parts, warehouse }, options);
  if (plan.requests < BRANDS)
    throw new Error(`the plan has ${plan.requests} requests; expected at least one for each of ${BRANDS} brands`);
}

// The work of a sync before its first request.
async function begin(warehouse: Warehouse): Promise<void> {
  const run = await warehouse.beginRun({ runId: crypto.randomUUID(), options: 'bench', now: Date.now() });
  if (!run.continues) throw new Error('the run does not resume the interrupted one');
  const context = await readContext({ ...parts, warehouse }, options, run.passId, Date.now());
  if (context.open.length !== PAGES_UNDER_WAY)
    throw new Error(`${context.open.length} slices are in progress; expected ${PAGES_UNDER_WAY}`);
  const brands = await readBrands({ catalogue, warehouse });
  createNextPlanner({ catalogue, database: warehouse.database }, context).brands(brands);
  planWorkspace(catalogue, context);
  for (const brand of brands) planBrand(catalogue, brand, context);
}

// Writes a run that has finished most windows of the brands, one slice per day, and was interrupted in others.
async function stopMidway({ database, beginRun }: Warehouse, today: string): Promise<void> {
  const { runId, passId } = await beginRun({ runId: crypto.randomUUID(), options: 'bench', now: Date.now() });
  await database.exclusive(async (session) => {
    await session.run(
      `INSERT INTO sync.coverage SELECT 'responses brand=' || id || ' ' || d, 'responses', id, d, d, CAST($1 AS UUID),
         CAST($2 AS UUID), now()::TIMESTAMP, 2000, NULL
       FROM brands, (SELECT CAST($3 AS DATE) - CAST(i AS INTEGER) AS d FROM range(${DAYS - 10}) t(i))`,
      [passId, runId, today],
    );
    await session.run(
      `INSERT INTO sync.checkpoints BY NAME SELECT 'responses brand=' || id || ' ' || i AS chain, 'responses' AS resource,
         id AS brand_id, CAST($2 AS DATE) - ${DAYS} + CAST(i AS INTEGER) AS range_from, range_from AS range_to,
         CAST($1 AS UUID) AS pass_id, 1 AS page, 'responses' AS table_name, 'next' AS next_cursor,
         list_transform(range(100), x -> CAST(uuid() AS VARCHAR)) AS seen, 0 AS unidentified, now()::TIMESTAMP AS read_at
       FROM brands, range(${PAGES_UNDER_WAY / BRANDS}) t(i)`,
      [passId, today],
    );
  });
}
