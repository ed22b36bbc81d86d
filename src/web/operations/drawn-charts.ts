import type { ShareForm } from '../../analytics/calibration/conventions.ts';
import { SightlineError } from '../../base/errors.ts';
import { addDays, daysInRange } from '../../contract/time.ts';
import type { Question, Service } from '../../query/service.ts';
import { toShown } from '../../query/shown-text.ts';
import { lineChart, type Series, type Width } from '../report/charts.ts';
import { pageTheme } from '../report/theme.ts';

/** Number of cached charts; the least recently used is dropped first. */
const KEPT_MAX = 32;
/** Maximum number of lines in a chart; the table shows all engines. */
const LINES_MAX = 7;
/** Maximum characters of a name in sentences, line labels and column headers. */
const NAME_CHARACTERS_MAX = 60;

/** A drawn chart and its numbers, as the API returns them. */
export interface DrawnChart {
  readonly name: string;
  readonly title: string;
  readonly about: string;
  /** An SVG document; null if there is nothing to draw. */
  readonly svg: string | null;
  readonly engines: readonly string[];
  /** The value that represents 100 %: 1 or 100. */
  readonly whole: number;
  /** One row per day with data: the day, then a value per engine, null if it had no responses. */
  readonly rows: readonly (readonly [day: string, ...values: (number | null)[]])[];
}

/** Charts of a brand for a range of days. */
export interface Charts {
  readonly brandId: string;
  readonly from: string;
  readonly to: string;
  /** Whether part of the range was never read completely. */
  readonly partial: boolean;
  readonly charts: readonly DrawnChart[];
}

/** Parameters of a chart request as sent by a client. Missing days default like those of the API. */
export interface ChartRequest {
  readonly brandId: string;
  readonly from: string | null;
  readonly to: string | null;
  readonly width: Width;
}

/**
 * Returns the charts, drawn once per version of their numbers. Throws what `Service.ask` and `Question.answer` throw.
 */
export type DrawCharts = (request: ChartRequest) => Promise<Charts>;

interface Measure {
  readonly name: string;
  readonly field: 'visibility' | 'shareOfVoice';
  readonly title: string;
  about(brand: string): string;
}

const measures: readonly Measure[] = [
  {
    name: 'visibility',
    field: 'visibility',
    title: 'Visibility by engine',
    about: (brand) => `Share of each engine's responses that mention ${brand}, by day.`,
  },
  {
    name: 'share-of-voice',
    field: 'shareOfVoice',
    title: 'Share of voice by engine',
    about: (brand) => `Mentions of ${brand} as a share of all mentions, including competitors, by engine and day.`,
  },
];

/** Creates the function that draws charts from the API's own numbers. */
export function createCharts(service: Service): DrawCharts {
  const daily = service.catalogue.resources.find(({ computes }) => computes === 'by-day');
  if (daily === undefined) throw new TypeError('no resource computes numbers by day');
  const kept = new Map<string, Promise<Charts>>();
  return async ({ brandId, from, to, width }) => {
    const given = new URLSearchParams();
    if (from !== null) given.set('from', from);
    if (to !== null) given.set('to', to);
    const { conventions } = await service.newest();
    const question = await service.ask(daily, { brandId }, given);
    const key = `${question.version} ${width}`;
    const known = kept.get(key);
    kept.delete(key);
    const drawn = known ?? draw(question, brandId, width, conventions);
    kept.set(key, drawn);
    const [oldest] = kept.size > KEPT_MAX ? kept.keys() : [];
    if (oldest !== undefined) kept.delete(oldest);
    drawn.catch(() => kept.delete(key));
    return drawn;
  };
}

/**
 * Parses the width of a chart; null means wide.
 *
 * @throws SightlineError `invalid_parameter`
 */
export function toWidth(text: string | null): Width {
  if (text === null || text === 'wide') return 'wide';
  if (text === 'narrow') return 'narrow';
  const facts = { parameter: 'width', allowed: 'wide, narrow' };
  const given = JSON.stringify(text.slice(0, 20));
  throw new SightlineError('invalid_parameter', `width is ${given}; allowed: ${facts.allowed}`, facts);
}

interface Row {
  readonly date: string;
  readonly engine: string | null;
  readonly competitorId: string | null;
  readonly name: string | null;
  readonly responses: number;
  readonly mentions: number;
  readonly visibility: number | null;
  readonly shareOfVoice: number | null;
}

async function draw(
  question: Question,
  brandId: string,
  width: Width,
  conventions: Readonly<Record<Measure['field'], ShareForm>>,
): Promise<Charts> {
  const { body } = await question.answer();
  const { from, to, data } = body as { from: string; to: string; data: readonly Row[] };
  const own = data.filter(({ competitorId, responses }) => competitorId === null && responses > 0);
  // Groups without any mention have no share of voice.
  const silent = silentGroups(data);
  const engines = [...new Set(own.map(({ engine }) => String(engine)))].sort();
  const days = Array.from({ length: daysInRange(from, to) }, (_, index) => addDays(from, index));
  const names = engines.map((engine) => toShown(engine, NAME_CHARACTERS_MAX));
  const brand = toShown(own[0]?.name ?? '', NAME_CHARACTERS_MAX) || 'the brand';
  const charts = measures.map((measure) => {
    const found = new Map(
      own.map((row) => {
        const isNothing = measure.field === 'shareOfVoice' && silent.has(groupOf(row));
        return [groupOf(row), isNothing ? null : row[measure.field]];
      }),
    );
    const shareOf = (date: string, engine: string): number | null => found.get(groupOf({ date, engine })) ?? null;
    const { whole } = conventions[measure.field];
    const series = engines.map(
      (engine, index): Series => ({ name: names[index] ?? engine, values: days.map((day) => shareOf(day, engine)) }),
    );
    const known = new Set(own.map(({ date }) => date));
    const { name, title } = measure;
    const about = measure.about(brand);
    const chart = { title, about, days, hasOwn: false, each: 'day', format: formatOf(whole) } as const;
    return {
      name,
      title,
      about,
      svg: engines.length === 0 ? null : lineChart({ ...chart, series: series.slice(0, LINES_MAX) }, width, pageTheme),
      engines: names,
      whole,
      rows: days
        .filter((day) => known.has(day))
        .map((day): DrawnChart['rows'][number] => [day, ...engines.map((engine) => shareOf(day, engine))]),
    };
  });
  return { brandId, from, to, partial: question.partial, charts };
}

function silentGroups(data: readonly Row[]): ReadonlySet<string> {
  const mentions = new Map<string, number>();
  for (const row of data) mentions.set(groupOf(row), (mentions.get(groupOf(row)) ?? 0) + row.mentions);
  return new Set([...mentions].filter(([, sum]) => sum === 0).map(([group]) => group));
}

function groupOf({ date, engine }: Pick<Row, 'date' | 'engine'>): string {
  return `${date} ${engine}`;
}

function formatOf(whole: number): (value: number) => string {
  return (value) => `${((100 * value) / whole).toFixed(1)} %`;
}
