import { shownTime } from '../../contract/time.ts';
import type { WarehouseStatus } from '../../warehouse/ledger/warehouse-status.ts';
import type { BrandReport, Figure, Measure, Mover } from './brand-report.ts';
import { percent } from './charts.ts';
import { endOfWeek, rangeText } from './dates.ts';
import { note, section, table } from './html.ts';
import { listSections } from './list-sections.ts';
import { drawings } from './report-charts.ts';
import { ratio } from './share.ts';
import { counted, points, signed, size } from './shown-values.ts';
import { escaped } from './svg.ts';
import { FONT, pageTheme, themeRules } from './theme.ts';

/** State of the data that a report is made from. */
export interface Health {
  readonly workspace: string;
  /** Time of the last data change, ISO 8601. `stale` is true if the warehouse is newer than the replica. */
  readonly asOf: string | null;
  readonly stale: boolean;
  readonly status: WarehouseStatus;
}

/** Returns a brand's report as one self-contained HTML page, in light and dark, for desktop and phone. */
export function reportPage(report: BrandReport, health: Health): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>${escaped(report.name)}: visibility in AI responses</title><style>${rules()}</style></head>
<body><header><h1>${escaped(report.name)}</h1><p>${escaped(comparedPeriods(report))}</p></header><main>
${report.periods === null ? section('Next step', `<p>${escaped(nextStep(report))}</p>`) : numberSections(report)}
${listSections(report)}
${section('Health of the data', healthOf(report, health))}
</main></body></html>
`;
}

function comparedPeriods({ periods }: BrandReport): string {
  if (periods === null) return 'No complete day with responses yet.';
  const { recentFrom, to, beforeFrom, beforeTo } = periods;
  const ranges = `${rangeText(recentFrom, to)}, compared with ${rangeText(beforeFrom, beforeTo)}`;
  return `${ranges}. Weeks begin on Monday; days are UTC.`;
}

function nextStep({ prompts, responses }: BrandReport): string {
  if (responses > 0) {
    return 'The first day with responses is not complete yet. Run `sightline sync` tomorrow, then `sightline report`.';
  }
  if (prompts === 0) {
    return 'The brand has no prompts. Add prompts in the app, run `sightline sync` after it has collected responses, then `sightline report`.';
  }
  return 'No responses are stored yet. The service collects them on a schedule: run `sightline sync` until `sightline status` shows responses, then `sightline report`.';
}

function numberSections(report: BrandReport): string {
  const charts = drawings(report);
  const chart = (name: string): string => {
    const drawing = charts.find((candidate) => candidate.name === name);
    if (drawing === undefined) return '';
    const caption = `<figcaption><b>${escaped(drawing.title)}</b> ${escaped(drawing.about)}</figcaption>`;
    return `<figure>${caption}<div class="wide">${drawing.draw('wide', pageTheme)}</div><div class="narrow">${drawing.draw('narrow', pageTheme)}</div></figure>`;
  };
  const weekly = report.weeks.length === 0 ? note('The first complete week ends on the next Sunday.') : '';
  const visits = chart('visits') || note('No visits are reported. Connect the analytics property in the app.');
  return [
    tiles(report),
    section('Visibility over time', weekly + chart('visibility') + chart('visibility-by-engine') + weeklyTable(report)),
    section('Share of voice', chart('share-of-voice') + chart('voices')),
    section('Engines', chart('by-engine')),
    section('Sentiment', chart('sentiment') || note('No mention has a sentiment label yet.')),
    section('Prompts that moved', moved(report) + lostPrompts(report)),
    section('Sources', chart('citations') + domains(report) + gaps(report) || note('No response cites a page.')),
    section('Visits from AI assistants', visits),
  ].join('\n');
}

interface Tile {
  readonly title: string;
  readonly measure: Measure;
  show(value: number): string;
  /** Describes the counts of the recent period. */
  note(part: number, whole: number): string;
  /** Formats a difference with its bounds. */
  change(by: number, bounds: { readonly lower: number; readonly upper: number }): string;
}

const inUnits: Tile['change'] = (by, { lower, upper }) => {
  return `${signed(by, 2)} (${signed(lower, 2)} to ${signed(upper, 2)})`;
};

const TILES: readonly Tile[] = [
  {
    title: 'Visibility',
    measure: 'visibility',
    show: percent,
    note: (part, whole) => `${size(part)} of ${size(whole)} responses mention the brand`,
    change: points,
  },
  {
    title: 'Share of voice',
    measure: 'share_of_voice',
    show: percent,
    note: (part, whole) => `${size(part)} of ${size(whole)} mentions`,
    change: points,
  },
  {
    title: 'Position',
    measure: 'position',
    show: (value) => value.toFixed(2),
    note: (_, whole) => `mean position in ${size(whole)} responses that have one; lower is better`,
    change: inUnits,
  },
  {
    title: 'Net sentiment',
    measure: 'net_sentiment',
    show: (value) => signed(value, 2),
    note: (_, whole) => `from −1 to +1, of ${size(whole)} mentions with a label`,
    change: inUnits,
  },
  {
    title: 'Own pages cited',
    measure: 'owned_citations',
    show: percent,
    note: (part, whole) => `${size(part)} of ${size(whole)} citations`,
    change: points,
  },
];

function tiles({ figures, visits }: BrandReport): string {
  const drawn = TILES.map((tile) => {
    const figure = figures.find(({ measure }) => measure === tile.measure);
    const value = figure === undefined ? null : ratio(figure.recent);
    if (figure === undefined || value === null) return tileOf(tile.title, '–', 'no data in this period', '');
    const about = tile.note(figure.recent.part, figure.recent.whole);
    return tileOf(tile.title, tile.show(value), about, changeOf(tile, figure));
  });
  const { recent, before } = visits;
  const note = 'sessions referred by AI assistants';
  const was = before === null ? 'no earlier data' : `${size(before)} in the 28 days before`;
  const sessions =
    recent === null ? tileOf('AI visits', '–', 'no traffic report', '') : tileOf('AI visits', size(recent), note, was);
  return `<section class="tiles" aria-label="In short">${drawn.join('')}${sessions}</section>
<p class="muted fine">Changes are against the 28 days before, with intervals that hold together for all five figures with 95 %. A change is significant if its interval excludes zero.</p>`;
}

function tileOf(title: string, figure: string, about: string, change: string): string {
  const parts = `<p class="figure">${escaped(figure)}</p><p>${escaped(about)}</p><p class="muted">${escaped(change)}</p>`;
  return `<div class="tile"><h2>${escaped(title)}</h2>${parts}</div>`;
}

function changeOf(tile: Tile, { before, recent, change }: Figure): string {
  const [was, is] = [ratio(before), ratio(recent)];
  if (was === null || is === null) return 'no earlier data';
  const counts = `before: ${tile.show(was)} of ${size(before.whole)}`;
  if (change === null) return `${counts}; too few responses to compare`;
  return `${change.isSignificant ? 'significant change' : 'no significant change'}: ${tile.change(is - was, change)}; ${counts}`;
}

function weeklyTable({ weeks, visibility: { values, lower = [], upper = [] } }: BrandReport): string {
  if (weeks.length === 0) return '';
  const show = (value: number | null | undefined): string => (typeof value === 'number' ? percent(value) : '–');
  const rows = weeks.map((week, index) => [
    rangeText(week, endOfWeek(week)),
    show(values[index]),
    `${show(lower[index])} to ${show(upper[index])}`,
  ]);
  return `<details><summary>The figures</summary>${table(['Week', 'Visibility', '95 % interval'], rows)}</details>`;
}

function moved({ movers, tested }: BrandReport): string {
  const rule = `${size(tested)} prompts were compared. A prompt is listed if its change is significant at 5 % after Benjamini and Hochberg's correction for their number.`;
  const tableOf = (title: string, isListed: (mover: Mover) => boolean): string => {
    const rows = movers.filter(isListed).map(({ text, before, recent, lower, upper }) => {
      const by = (ratio(recent) ?? 0) - (ratio(before) ?? 0);
      return [text, counted(before), counted(recent), points(by, { lower, upper })];
    });
    const heads = ['Prompt', '28 days before', 'Last 28 days', 'Change (corrected interval)'];
    return rows.length === 0 ? '' : `<h3>${title}</h3>${table(heads, rows)}`;
  };
  const tables = tableOf('Rising', ({ lower }) => lower > 0) + tableOf('Falling', ({ upper }) => upper < 0);
  return note(rule) + (tables || '<p>No prompt changed significantly.</p>');
}

function lostPrompts({ lost }: BrandReport): string {
  if (lost.length === 0)
    return '<h3>Lost</h3><p>No prompt lost its mentions: every streak is likely at the earlier rate.</p>';
  const rows = lost.map(({ text, days, earlier, lower, upper, responses, sinceUpper }) => [
    text,
    `${counted(earlier)}, ${percent(lower)} to ${percent(upper)}`,
    `0 of ${size(responses)}, at most ${percent(sinceUpper)}`,
    String(days),
  ]);
  const rule = 'Mentioned before and not since, for longer than the earlier rate explains, with the same correction.';
  const heads = ['Prompt', 'Visibility before (95 % interval)', 'Since', 'Days'];
  return `<h3>Lost</h3>${note(rule)}${table(heads, rows)}`;
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
    ['Data as of', `${asOf === null ? 'no sync yet' : shownTime(asOf)}${stale ? ', a sync is running' : ''}`],
    ['Last sync', lastRun === null ? 'none' : `${lastRun.status}, started ${lastRun.startedAt}`],
    ['Verified through', verified?.verifiedThrough ?? 'never: run sightline verify'],
    ['Days that differ from upstream', String(verified?.differingDays ?? 0)],
    ['Days never read completely', String(gapDays)],
    ['Items in quarantine', String(quarantined)],
    ['Differences from the documented API', String(drift.length)],
  ];
  return table(['Item', 'State'], rows);
}

function rules(): string {
  return `${themeRules()}
*{box-sizing:border-box}body{margin:0;background:var(--page);color:var(--ink);font:15px/1.5 ${FONT}}
header,main{max-width:800px;margin:0 auto;padding:0 16px}header{padding-top:24px}h1{font-size:28px;line-height:1.2;margin:0}
header p{margin:4px 0 16px;color:var(--muted)}section{background:var(--surface);border:1px solid var(--grid);border-radius:10px;padding:16px;margin:0 0 16px}
section h2{font-size:18px;margin:0 0 8px}h3{font-size:15px;margin:16px 0 4px}figure{margin:0 0 12px}figcaption{font-size:14px;color:var(--muted);margin-bottom:4px}figcaption b{color:var(--ink)}svg{width:100%;height:auto;display:block}
.narrow{display:none}.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(220px,1fr));gap:12px;background:none;border:0;padding:0}
.tile{background:var(--surface);border:1px solid var(--grid);border-radius:10px;padding:12px}.tile h2{font-size:14px;font-weight:600;color:var(--muted);margin:0}
.tile p{margin:2px 0;font-size:13px}.tile .figure{font-size:26px;font-weight:700;line-height:1.2}.muted{color:var(--muted)}.fine{font-size:13px;margin:-8px 0 16px}a{color:var(--series-0)}
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:14px}th,td{text-align:left;padding:6px 12px 6px 0;border-bottom:1px solid var(--grid);vertical-align:top;overflow-wrap:break-word}
th{white-space:nowrap}th{color:var(--muted);font-weight:600}details{margin-top:8px}summary{cursor:pointer}
@media (max-width:600px){.wide{display:none}.narrow{display:block}thead,td:empty{display:none}table,tbody,tr,td{display:block}
tr{border-bottom:1px solid var(--grid);padding:6px 0}td{border:0;padding:1px 0}td:first-child{font-weight:600}
td:not(:first-child)::before{content:attr(data-head)': ';color:var(--muted)}}
@media print{body{background:none}section,.tile{break-inside:avoid}}`;
}
