import { expect, test } from 'vitest';
import { explainMetric } from '../../../src/read/metrics/explanations.ts';
import { runMetrics } from '../../../src/read/metrics/run-metrics.ts';
import type { MetricsSource } from '../../../src/read/metrics/table-result.ts';
import { wilson } from '../../support/oracle/statistics.ts';
import { coverageOf, openWritten } from '../../support/written.ts';
import { recordsOf } from '../mirror.ts';

/** A brand and its responses per period: 50 in the later one and 40 in the earlier one. */
interface Flat {
  readonly name: string;
  readonly mentioned: boolean;
  /** Whether responses mention the competitor. */
  readonly rival: boolean;
  /** Domains that each response cites. */
  readonly domains: readonly string[];
}

const FLATS: readonly Flat[] = [
  { name: 'Always', mentioned: true, rival: false, domains: ['own.example', 'www.own.example'] },
  { name: 'Never', mentioned: false, rival: true, domains: ['third.example'] },
  { name: 'Shared', mentioned: true, rival: true, domains: ['own.example', 'third.example', 'third.example'] },
];
const [RECENT, EARLIER] = [50, 40];
const RANGE = 'from=2026-03-01&to=2026-03-10';

/** Opens a replica with brands whose responses are all the same. */
async function openFlats(): Promise<MetricsSource> {
  const { run, source } = await openWritten();
  const child = 'r.brand_id, r.id AS response_id, r.prompt_id, r.engine, r.created_at';
  for (const { name, mentioned, rival, domains } of FLATS) {
    const brand = `CAST(md5('${name}') AS UUID)`;
    const ofBrand = `FROM responses r WHERE r.brand_id = ${brand}`;
    await run(
      `INSERT INTO brands BY NAME SELECT ${brand} AS id, '${name}' AS name, 'https://own.example' AS website_url, DATE '2026-02-01' AS created_at`,
      `INSERT INTO competitors BY NAME SELECT ${brand} AS brand_id, CAST(md5('rival ${name}') AS UUID) AS id, 'Rival' AS name`,
      `INSERT INTO responses BY NAME SELECT ${brand} AS brand_id, uuid() AS id, CAST(md5('prompt ${name}') AS UUID) AS prompt_id, 'claude' AS engine,
         if(i < ${RECENT}, TIMESTAMPTZ '2026-03-02 10:00:00+00', TIMESTAMPTZ '2026-02-19 10:00:00+00') AS created_at,
         ${mentioned} AS brand_mentioned, 2 AS brand_position, 'positive' AS brand_sentiment FROM range(${RECENT + EARLIER}) t(i)`,
      `INSERT INTO response_competitors BY NAME SELECT ${child}, 0 AS ordinal, CAST(md5('rival ${name}') AS UUID) AS competitor_id,
         'Rival' AS name ${ofBrand} AND ${rival}`,
      ...domains.map(
        (domain, ordinal) =>
          `INSERT INTO response_citations BY NAME SELECT ${child}, ${ordinal} AS ordinal, 'https://${domain}/${ordinal}' AS url, '${domain}' AS domain ${ofBrand}`,
      ),
    );
  }
  await run(coverageOf('2026-02-01', '2026-03-10', '2026-03-11 02:00:00'));
  return source(Date.parse('2026-03-11T09:30:00Z'));
}

test('a ratio from 0 to 1 without variance has the interval of a share of its sample units', async () => {
  const source = await openFlats();
  const asked = async (given: string) => recordsOf(await runMetrics(source, new URLSearchParams(`${RANGE}&${given}`)));
  const near = (value: number) => expect.closeTo(value, 9);
  const byBrand = await asked('metrics=share_of_voice,owned_citations,position,net_sentiment&group_by=brand');
  for (const [brand, voice, owned] of [
    ['Always', 1, 1],
    ['Never', 0, 0],
    ['Shared', 1 / 2, 1 / 3],
  ] as const) {
    const row = byBrand.find((one) => one['brand'] === brand);
    for (const [name, value] of [
      ['share_of_voice', voice],
      ['owned_citations', owned],
    ] as const) {
      const [own, old] = [wilson(value * RECENT, RECENT), wilson(value * EARLIER, EARLIER)];
      expect(row, `${name} of ${brand}`).toMatchObject({
        [name]: near(value),
        [`${name}_n`]: RECENT,
        [`${name}_lower`]: near(own.lower),
        [`${name}_upper`]: near(own.upper),
        [`${name}_change`]: near(0),
        [`${name}_change_lower`]: near(-Math.hypot(value - own.lower, old.upper - value)),
        [`${name}_change_upper`]: near(Math.hypot(own.upper - value, value - old.lower)),
        // Without variance there is no test.
        [`${name}_p`]: null,
        [`${name}_significant`]: null,
      });
      expect(Number(row?.[`${name}_upper`]) - Number(row?.[`${name}_lower`])).toBeGreaterThan(0.05);
    }
    // Positions and leans are not from 0 to 1, so a share has no meaning for them.
    if (brand === 'Never') continue;
    expect(row).toMatchObject({ position: 2, position_lower: 2, position_upper: 2 });
    expect(row).toMatchObject({ net_sentiment: 1, net_sentiment_lower: 1, net_sentiment_upper: 1 });
  }

  const rivals = await asked('metrics=share_of_voice&group_by=entity&brand=Never&compare_to=none');
  const all = wilson(RECENT, RECENT);
  expect(rivals.find((row) => row['entity'] === 'Rival')).toMatchObject({
    share_of_voice: 1,
    share_of_voice_lower: near(all.lower),
    share_of_voice_upper: near(1),
  });
  const domains = await asked('metrics=citation_share&group_by=domain&brand=Never&compare_to=none');
  expect(domains).toMatchObject([{ citation_share: 1, citation_share_lower: near(all.lower) }]);

  const explained = await explainMetric(source, new URLSearchParams(`${RANGE}&metric=owned_citations&brand=Never`));
  const [now, before] = [wilson(0, RECENT), wilson(0, EARLIER)];
  expect(explained.total).toMatchObject({
    before: 0,
    after: 0,
    lower: expect.closeTo(-before.upper, 6),
    upper: expect.closeTo(now.upper, 6),
  });
});
