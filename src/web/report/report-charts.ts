import { type BrandReport, OTHERS } from './brand-report.ts';
import { barChart, lineChart, percent, stackChart, type Width } from './charts.ts';
import { dayText, endOfWeek, monthName, rangeText } from './dates.ts';
import { ratio } from './share.ts';
import { counted } from './shown-values.ts';
import type { Theme } from './theme.ts';

/** A chart of a report. `name` is used as its file name. */
export interface Drawing {
  readonly name: string;
  readonly title: string;
  /** One sentence that describes the chart. */
  readonly about: string;
  draw(width: Width, theme: Theme): string;
}

/** Returns the charts of a brand's report; charts without data are left out. */
export function drawings(report: BrandReport): Drawing[] {
  return [...weeklyCharts(report), ...recentCharts(report), ...sentimentCharts(report)];
}

function weeklyCharts({ name, weeks, ...report }: BrandReport): Drawing[] {
  const [first, last] = [weeks[0], weeks.at(-1)];
  if (first === undefined || last === undefined) return [];
  const count = weeks.length === 1 ? '1 week' : `${weeks.length} weeks`;
  const over = `${count}, ${rangeText(first, endOfWeek(last))}`;
  const ofWeeks = { days: weeks, format: percent };
  const charts: Drawing[] = [];
  if (hasValue(report.visibility.values)) {
    const about = `Share of responses that mention ${name}, with a 95 % interval; ${over}.`;
    const chart = { ...ofWeeks, series: [report.visibility], hasOwn: true };
    charts.push(lines('visibility', 'Visibility by week', about, chart));
  }
  if (report.engines.length >= 2) {
    const about = `Share of each engine's responses that mention ${name}; ${over}.`;
    const series = report.engines.map(({ name: engine, values }) => ({ name: engine, values }));
    charts.push(lines('visibility-by-engine', 'Visibility by engine', about, { ...ofWeeks, series, hasOwn: false }));
  }
  if (report.shareOfVoice.length > 0) {
    const about = `Share of all mentions, ${name} and its competitors; ${over}.`;
    const chart = { ...ofWeeks, series: report.shareOfVoice, hasOwn: true };
    charts.push(lines('share-of-voice', 'Share of voice by week', about, chart));
  }
  // Without a known host, every page belongs to "others" and the chart would have one part.
  if (!report.citations.every((part) => part.name === OTHERS)) {
    const about = `Share of citations by owner of the page; ${over}.`;
    charts.push(stacks('citations', 'Cited pages by owner', about, { days: weeks, parts: report.citations }));
  }
  if (hasValue(report.sessions.values)) {
    const about = `Sessions per week referred by AI assistants; ${over}.`;
    const format = (value: number): string => Math.round(value).toLocaleString('en-US');
    const chart = { days: weeks, series: [report.sessions], hasOwn: true, format };
    charts.push(lines('visits', 'Visits from AI assistants', about, chart));
  }
  return charts;
}

function recentCharts({ name, periods, byEngine, byEntity }: BrandReport): Drawing[] {
  const over = periods === null ? '' : `; ${rangeText(periods.recentFrom, periods.to)}`;
  const rowsOf = <T extends { readonly part: number; readonly whole: number }>(list: readonly T[]) =>
    list.map((one) => ({ ...one, value: ratio(one), note: counted(one) }));
  const charts: Drawing[] = [];
  if (byEngine.length > 0) {
    const about = `Visibility of ${name} by engine with a 95 % interval${over}.`;
    charts.push(bars('by-engine', 'Engines, last 28 days', about, { rows: rowsOf(byEngine), format: percent }));
  }
  if (byEntity.length > 0) {
    const about = `Share of all mentions by entity${over}.`;
    charts.push(bars('voices', 'Share of voice, last 28 days', about, { rows: rowsOf(byEntity), format: percent }));
  }
  return charts;
}

function sentimentCharts({ name, sentiment, periods }: BrandReport): Drawing[] {
  if (!sentiment.some(({ labelled }) => labelled > 0)) return [];
  const until = periods === null ? '' : `; data to ${dayText(periods.to)}`;
  const [first, last] = [sentiment[0], sentiment.at(-1)].map((one) => monthName(one?.month ?? '')) as [string, string];
  const about = `Share of mentions of ${name} by sentiment label, ${first === last ? first : `${first} to ${last}`}${until}.`;
  const parts = [
    { name: 'positive', values: sentiment.map(({ positive }) => positive), colour: 2 },
    { name: 'neutral', values: sentiment.map(({ neutral }) => neutral), colour: 6 },
    { name: 'negative', values: sentiment.map(({ negative }) => negative), colour: 1 },
  ];
  const days = sentiment.map(({ month }) => month);
  return [stacks('sentiment', 'Sentiment by month', about, { days, parts, each: 'month' })];
}

function hasValue(values: readonly (number | null)[]): boolean {
  return values.some((value) => value !== null);
}

type Headless<T> = Omit<T, 'title' | 'about'>;

function lines(name: string, title: string, about: string, chart: Headless<Parameters<typeof lineChart>[0]>): Drawing {
  return { name, title, about, draw: (width, theme) => lineChart({ title, about, ...chart }, width, theme) };
}

function bars(name: string, title: string, about: string, chart: Headless<Parameters<typeof barChart>[0]>): Drawing {
  return { name, title, about, draw: (width, theme) => barChart({ title, about, ...chart }, width, theme) };
}

function stacks(
  name: string,
  title: string,
  about: string,
  chart: Headless<Parameters<typeof stackChart>[0]>,
): Drawing {
  return { name, title, about, draw: (width, theme) => stackChart({ title, about, ...chart }, width, theme) };
}
