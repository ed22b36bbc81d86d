import { LABELS } from './mart-answers.ts';
import type { Hosts } from './mart-citations.ts';
import { groupsOf } from './mart-lists.ts';
import { addDays, groupBy, type Held, type Row, weekOf } from './rows.ts';

/** Returns the expected rows of dimensions and reported numbers, by name. `whole` is upstream's number for 100 %. */
export async function expectedDimensions(
  held: Held,
  hosts: ReadonlyMap<string, Hosts>,
  whole: number,
): Promise<Record<string, Row[]>> {
  const rivals = [...hosts].flatMap(([brand_id, known]) =>
    [...known.rivals].map(([competitor_id, own]) => ({ brand_id, competitor_id, own })),
  );
  const versions = versionsOf(
    (await held.all('prompts_history')).filter(({ brand_id }) => held.brands.some(({ id }) => id === brand_id)),
  );
  return {
    dim_date: await calendar(held),
    dim_engine: await engines(held),
    dim_competitor: held.competitors.map(({ brand_id, id, name }) => {
      const own = rivals.find(({ competitor_id }) => competitor_id === id)?.own ?? [];
      const said = [...(hosts.get(brand_id)?.said.values() ?? [])];
      const isMarked = said.some(({ competitor_id }) => competitor_id === id);
      const host = [...own].sort()[0] ?? null;
      return { brand_id, competitor_id: id, name, host, has_sites: host !== null || isMarked };
    }),
    competitor_host: rivals.flatMap(({ own, ...ids }) => own.map((host) => ({ ...ids, host }))),
    sentiment_label: Object.entries(LABELS).map(([label, known]) => ({ label, ...known })),
    fct_daily_metric: await reported(held, whole),
    dim_prompt_history: versions.map(({ row, ...when }) => ({
      ...when,
      text: row['text'],
      active: row['active'],
      branded: row['branded'],
      funnel_stage: row['funnel_stage'],
      topic_id: row['topic_id'],
      topic_name: row['topic_name'],
      tags: JSON.stringify(JSON.parse(row['_children'])['prompt_tags']),
    })),
    dim_prompt_group_history: versions.flatMap(({ row, ...when }) =>
      groupsOf(row, JSON.parse(row['_children'])['prompt_tags']).map((group) => ({ ...group, ...when })),
    ),
  };
}

interface Version {
  readonly brand_id: string;
  readonly prompt_id: string;
  readonly valid_from: string;
  readonly valid_to: string | null;
  readonly applies_from: string | null;
  readonly applies_to: string | null;
  readonly row: Row;
}

function versionsOf(history: readonly Row[]): Version[] {
  const kept = history.filter(({ change }) => change !== 'deleted');
  return [...groupBy(kept, ({ brand_id, id }) => `${brand_id} ${id}`).values()].flatMap((rows) => {
    const inTime = rows.sort((a, b) => Date.parse(a['valid_from']) - Date.parse(b['valid_from']));
    return inTime.map((row, index) => ({
      brand_id: row['brand_id'],
      prompt_id: row['id'],
      valid_from: row['valid_from'],
      valid_to: row['valid_to'],
      applies_from: index === 0 ? null : row['valid_from'],
      applies_to: inTime[index + 1]?.['valid_from'] ?? null,
      row,
    }));
  });
}

async function calendar(held: Held): Promise<Row[]> {
  const years = [
    ...(await held.all('responses')).map(({ created_at }) => created_at),
    ...(await held.all('traffic_daily')).map(({ date }) => date),
    ...(await held.all('metrics_daily')).map(({ date }) => date),
    ...(await held.all('alerts')).map(({ detected_at }) => detected_at),
    ...(await held.all('forum_opportunities')).map(({ created_at }) => created_at),
  ].map((moment) => Number(moment.slice(0, 4)));
  const rows: Row[] = [];
  for (let day = `${Math.min(...years)}-01-01`; day <= `${Math.max(...years)}-12-31`; day = addDays(day, 1)) {
    const date = new Date(`${day}T00:00:00Z`);
    const weekday = date.getUTCDay() === 0 ? 7 : date.getUTCDay();
    // The year of an ISO week is the year of its Thursday, and its number counts Thursdays.
    const thursday = addDays(weekOf(day), 3);
    const first = Date.parse(`${thursday.slice(0, 4)}-01-01T00:00:00Z`);
    rows.push({
      day,
      year: date.getUTCFullYear(),
      quarter: Math.floor(date.getUTCMonth() / 3) + 1,
      month: `${day.slice(0, 7)}-01`,
      month_of_year: date.getUTCMonth() + 1,
      week: weekOf(day),
      iso_year: Number(thursday.slice(0, 4)),
      iso_week: Math.floor((Date.parse(`${thursday}T00:00:00Z`) - first) / (7 * 86_400_000)) + 1,
      weekday,
      is_weekend: weekday >= 6,
    });
  }
  return rows;
}

async function engines({ answers, all }: Held): Promise<Row[]> {
  const listed = (await all('engines')).filter(({ _deleted_at }) => _deleted_at === null);
  const slugs = new Set([...listed.map(({ slug }) => slug), ...answers.map(({ engine }) => engine)]);
  return [...slugs].map((engine) => {
    const found = listed.find(({ slug }) => slug === engine);
    return { engine, name: found?.['name'] ?? engine, is_listed: found !== undefined };
  });
}

async function reported({ rows }: Held, whole: number): Promise<Row[]> {
  return (await rows('metrics_daily')).map((row) => {
    const { brand_id, entity_type, competitor_id, name, responses, mentions, avg_position, sentiment } = row;
    const ofEngine = row['row_mode'] === 'engine';
    return {
      ...{
        brand_id,
        day: row['date'],
        scope: ofEngine ? 'engine' : 'all engines',
        engine: ofEngine ? row['engine'] : null,
      },
      ...{ entity_type, competitor_id, name, responses, mentions, avg_position, sentiment },
      visibility: row['visibility'] === null ? null : row['visibility'] / whole,
      share_of_voice: row['share_of_voice'] === null ? null : row['share_of_voice'] / whole,
    };
  });
}
