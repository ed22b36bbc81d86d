import type { WarehouseStatus } from '../../warehouse/ledger/warehouse-status.ts';
import { type BrandReport, type Headline, type Mover, OTHERS, type Share } from './brand-report.ts';
import { barChart, lineChart, percent, stackChart, type Width } from './charts.ts';
import { escaped } from './svg.ts';
import { FONT, pageTheme, type Theme, themeRules } from './theme.ts';

/** A chart of a report. `name` is used as its file name. */
export interface Drawing {
  readonly name: string;
  readonly title: string;
  /** One sentence that describes the chart. */
  readonly about: string;
  draw(width: Width, theme: Theme): string;
}

/** State of the data that a report is made from. */
export interface Health {
  readonly workspace: string;
  /** Time of the last data change, ISO 8601. `stale` is true if the warehouse is newer than the replica. */
  readonly asOf: string;
  readonly stale: boolean;
  readonly status: WarehouseStatus;
}

/** Returns the charts of a brand's report; charts without data are left out. */
export function drawings(report: BrandReport): Drawing[] {
  const { weeks, name } = report;
  const has = (values: readonly (number | null)[]): boolean => values.some((value) => value !== null);
  const over = `${weeks.length} weeks to ${weeks.at(-1) ?? ''}`;
  const list: (Drawing | null)[] = [
    !has(report.visibility.values)
      ? null
      : lines(
          'visibility',
          'Visibility by week',
          `Share of responses that mention ${name}, with a 95 % interval, ${over}.`,
          {
            days: weeks,
            series: [report.visibility],
            hasOwn: true,
            format: percent,
          },
        ),
    report.engines.length < 2
      ? null
      : lines(
          'visibility-by-engine',
          'Visibility by engine',
          `Share of each engine's responses that mention ${name}, ${over}.`,
          {
            days: weeks,
            series: report.engines.map(({ name: engine, values }) => ({ name: engine, values })),
            hasOwn: false,
            format: percent,
          },
        ),
    report.shareOfVoice.length === 0
      ? null
      : lines(
          'share-of-voice',
          'Share of voice by week',
          `Share of all mentions, ${name} and its competitors, ${over}.`,
          {
            days: weeks,
            series: report.shareOfVoice,
            hasOwn: true,
            format: percent,
          },
        ),
    report.byEngine.length === 0
      ? null
      : bars('by-engine', 'Engines, last 28 days', `Visibility of ${name} by engine with a 95 % interval.`, {
          rows: report.byEngine.map((one) => ({ ...one, value: ratio(one), note: counted(one) })),
          format: percent,
        }),
    report.byEntity.length === 0
      ? null
      : bars('voices', 'Share of voice, last 28 days', `Share of all mentions by entity.`, {
          rows: report.byEntity.map((one) => ({ ...one, value: ratio(one), note: counted(one) })),
          format: percent,
        }),
    // Without a known host, every page belongs to "others" and the chart would have one part.
    report.citations.every((part) => part.name === OTHERS)
      ? null
      : stacks('citations', 'Cited pages by owner', `Share of citations by owner of the page, ${over}.`, {
          days: weeks,
          parts: report.citations,
        }),
    !has(report.sessions.values)
      ? null
      : lines('visits', 'Visits from AI assistants', `Sessions per week referred by AI assistants, ${over}.`, {
          days: weeks,
          series: [report.sessions],
          hasOwn: true,
          format: (value) => Math.round(value).toLocaleString('en-US'),
        }),
  ];
  return list.filter((drawing) => drawing !== null);
}

/** Returns a brand's report as one self-contained HTML page, in light and dark, for desktop and phone. */
export function reportPage(report: BrandReport, health: Health): string {
  const charts = drawings(report);
  const chart = (name: string): string => {
    const drawing = charts.find((candidate) => candidate.name === name);
    if (drawing === undefined) return '<p class="none">Nothing to show yet.</p>';
    const caption = `<figcaption><b>${escaped(drawing.title)}</b> ${escaped(drawing.about)}</figcaption>`;
    return `<figure>${caption}<div class="wide">${drawing.draw('wide', pageTheme)}</div><div class="narrow">${drawing.draw('narrow', pageTheme)}</div></figure>`;
  };
  const { periods } = report;
  const when =
    periods === null
      ? 'No complete day with responses yet.'
      : `The 28 days to ${periods.to}, compared with the 28 days before. Weeks begin on Monday; days are UTC.`;
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>${escaped(report.name)}: visibility in AI responses</title><style>${rules()}</style></head>
<body><header><h1>${escaped(report.name)}</h1><p>${escaped(when)}</p></header><main>
${tiles(report)}
${section('Visibility over time', chart('visibility') + chart('visibility-by-engine') + weeklyTable(report))}
${section('Share of voice', chart('share-of-voice') + chart('voices'))}
${section('Engines', chart('by-engine'))}
${section('Prompts that moved', movers('Rising', report.risers) + movers('Falling', report.fallers) + lostPrompts(report))}
${section('Sources', chart('citations') + domains(report) + gaps(report))}
${section('Visits from AI assistants', chart('visits'))}
${section('Health of the data', healthOf(report, health))}
</main></body></html>
`;
}

function lines(
  name: string,
  title: string,
  about: string,
  chart: Omit<Parameters<typeof lineChart>[0], 'title' | 'about'>,
): Drawing {
  return { name, title, about, draw: (width, theme) => lineChart({ title, about, ...chart }, width, theme) };
}

function bars(
  name: string,
  title: string,
  about: string,
  chart: Omit<Parameters<typeof barChart>[0], 'title' | 'about'>,
): Drawing {
  return { name, title, about, draw: (width, theme) => barChart({ title, about, ...chart }, width, theme) };
}

function stacks(
  name: string,
  title: string,
  about: string,
  chart: Omit<Parameters<typeof stackChart>[0], 'title' | 'about'>,
): Drawing {
  return { name, title, about, draw: (width, theme) => stackChart({ title, about, ...chart }, width, theme) };
}

function tiles({ recent, before }: BrandReport): string {
  const of = (
    title: string,
    pick: (headline: Headline) => number | null,
    show: (value: number) => string,
    { note, change }: { note: string; change: (by: number) => string },
  ): string => {
    const [now, then] = [pick(recent), pick(before)];
    const by = now === null || then === null ? null : now - then;
    const moved =
      by === null
        ? 'no earlier data'
        : by === 0
          ? 'as in the 28 days before'
          : `${change(by)} than in the 28 days before`;
    return `<div class="tile"><h2>${title}</h2><p class="figure">${now === null ? '–' : show(now)}</p><p>${escaped(note)}</p><p class="muted">${escaped(moved)}</p></div>`;
  };
  const points = (by: number): string => `${Math.abs(100 * by).toFixed(1)} points ${by < 0 ? 'less' : 'more'}`;
  const size = (value: number): string => value.toLocaleString('en-US');
  return `<section class="tiles" aria-label="In short">
${of('Visibility', ({ visibility }) => ratio(visibility), percent, { note: `${size(recent.visibility.part)} of ${size(recent.visibility.whole)} responses mention the brand`, change: points })}
${of('Share of voice', ({ voice }) => ratio(voice), percent, { note: `${size(recent.voice.part)} of ${size(recent.voice.whole)} mentions`, change: points })}
${of(
  'Position',
  ({ position }) => ratio(position),
  (value) => value.toFixed(2),
  {
    note: `mean position in ${size(recent.position.whole)} responses that have one`,
    change: (by) => `${Math.abs(by).toFixed(2)} ${by < 0 ? 'closer to the top' : 'further down'}`,
  },
)}
${of('Own pages cited', ({ owned }) => ratio(owned), percent, { note: `${size(recent.owned.part)} of ${size(recent.owned.whole)} citations`, change: points })}
${of('AI visits', ({ sessions }) => sessions, size, { note: 'sessions referred by AI assistants', change: (by) => `${size(Math.abs(by))} ${by < 0 ? 'fewer' : 'more'}` })}
</section>`;
}

function section(title: string, content: string): string {
  return `<section><h2>${escaped(title)}</h2>${content}</section>`;
}

function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const head = heads.map((text) => `<th scope="col">${escaped(text)}</th>`).join('');
  const body = rows.map((row) => `<tr>${row.map((text) => `<td>${escaped(text)}</td>`).join('')}</tr>`).join('');
  return `<div class="scroll"><table><thead><tr>${head}</tr></thead><tbody>${body}</tbody></table></div>`;
}

function weeklyTable({ weeks, visibility: { values, lower = [], upper = [] } }: BrandReport): string {
  const show = (value: number | null | undefined): string => (typeof value === 'number' ? percent(value) : '–');
  const rows = weeks.map((week, index) => [
    week,
    show(values[index]),
    `${show(lower[index])} to ${show(upper[index])}`,
  ]);
  return `<details><summary>The figures</summary>${table(['Week of', 'Visibility', '95 % interval'], rows)}</details>`;
}

function movers(title: string, list: readonly Mover[]): string {
  if (list.length === 0) return `<h3>${title}</h3><p class="none">None.</p>`;
  const rows = list.map(({ text, before, recent }) => [text, counted(before), counted(recent)]);
  return `<h3>${title}</h3>${table(['Prompt', 'Before', 'Last 28 days'], rows)}`;
}

function lostPrompts({ lost }: BrandReport): string {
  if (lost.length === 0) return '<h3>Lost</h3><p class="none">None.</p>';
  const rows = lost.map(({ text, days, answers }) => [text, answers.toLocaleString('en-US'), String(days)]);
  return `<h3>Lost: mentioned before, and not since</h3>${table(['Prompt', 'Responses without', 'Days without'], rows)}`;
}

function domains({ domains: list }: BrandReport): string {
  if (list.length === 0) return '';
  const rows = list.map((one) => [one.domain, one.owner, counted(one)]);
  return `<h3>Domains cited most, last 28 days</h3>${table(['Domain', 'Owner', 'Citations'], rows)}`;
}

function gaps({ gaps: list }: BrandReport): string {
  if (list.length === 0) return '';
  const rows = list.map((one) => [one.domain, counted(one)]);
  return `<h3>Cited in responses that mention competitors but not the brand</h3>${table(['Domain', 'Such responses'], rows)}`;
}

function healthOf({ id }: BrandReport, { workspace, asOf, stale, status }: Health): string {
  const { lastRun, resources, brands, quarantined, drift } = status;
  const verified = brands.find(({ brandId }) => brandId === id);
  const gapDays = resources.reduce((sum, resource) => sum + resource.gapDays, 0);
  const rows: [string, string][] = [
    ['Workspace', workspace],
    ['Data as of', `${asOf}${stale ? ', a sync is running' : ''}`],
    ['Last sync', lastRun === null ? 'none' : `${lastRun.status}, started ${lastRun.startedAt}`],
    ['Verified through', verified?.verifiedThrough ?? 'never: run sightline verify'],
    ['Days that differ from upstream', String(verified?.differingDays ?? 0)],
    ['Days never read completely', String(gapDays)],
    ['Items in quarantine', String(quarantined)],
    ['Differences from the documented API', String(drift.length)],
  ];
  return table(['Item', 'State'], rows);
}

function ratio({ part, whole }: Share): number | null {
  return whole === 0 ? null : part / whole;
}

function counted(one: Share): string {
  const value = ratio(one);
  if (value === null) return 'none';
  return `${percent(value)} (${one.part.toLocaleString('en-US')} of ${one.whole.toLocaleString('en-US')})`;
}

function rules(): string {
  return `${themeRules()}
*{box-sizing:border-box}body{margin:0;background:var(--page);color:var(--ink);font:15px/1.5 ${FONT}}
header,main{max-width:800px;margin:0 auto;padding:0 16px}header{padding-top:24px}h1{font-size:28px;line-height:1.2;margin:0}
header p{margin:4px 0 16px;color:var(--muted)}section{background:var(--surface);border:1px solid var(--grid);border-radius:10px;padding:16px;margin:0 0 16px}
section h2{font-size:18px;margin:0 0 8px}h3{font-size:15px;margin:16px 0 4px}figure{margin:0 0 12px}figcaption{font-size:14px;color:var(--muted);margin-bottom:4px}figcaption b{color:var(--ink)}svg{width:100%;height:auto;display:block}
.narrow{display:none}.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(132px,1fr));gap:12px;background:none;border:0;padding:0}
.tile{background:var(--surface);border:1px solid var(--grid);border-radius:10px;padding:12px}.tile h2{font-size:14px;font-weight:600;color:var(--muted);margin:0}
.tile p{margin:2px 0;font-size:13px}.tile .figure{font-size:26px;font-weight:700;line-height:1.2}.muted,.none{color:var(--muted)}
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:14px}th,td{text-align:left;padding:6px 12px 6px 0;border-bottom:1px solid var(--grid);vertical-align:top;overflow-wrap:break-word}
td:not(:first-child),th:not(:first-child){white-space:nowrap}th{color:var(--muted);font-weight:600}details{margin-top:8px}summary{cursor:pointer}
@media (max-width:600px){.wide{display:none}.narrow{display:block}td:not(:first-child),th:not(:first-child){white-space:normal}}
@media print{body{background:none}section,.tile{break-inside:avoid}}`;
}
