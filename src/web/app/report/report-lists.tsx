import type { JSX } from 'preact';
import { DeclaredTable, type TableSpec } from '../components/data-table.tsx';
import { ENTITIES } from '../pages/competitors/competitor-tables.ts';
import { NO_RIVALS } from '../pages/competitors/entities-over-time.tsx';
import { GAPS } from '../pages/sources/source-tables.ts';
import { useQuery } from '../state/data.tsx';
import { useScope } from '../state/scope.tsx';
import { numberOf, type Row, textOf, toRecords } from '../state/table.ts';

/** Names in a cell of a list. */
const NAMES_MAX = 3;

type ReportTable = TableSpec & { readonly query: string };

/** A list of the report. Its query has the column `total`, the number of rows before its limit. */
export function ReportList(list: ReportTable): JSX.Element {
  const { brand, format } = useScope();
  const { table } = useQuery(list.query, brand && { brand: brand.id });
  const rows = toRecords(table);
  const all = numberOf(rows[0]?.['total']) ?? 0;
  const more = all > rows.length ? ` These are ${rows.length} of ${format.value(all, 'count')}.` : '';
  return <DeclaredTable {...list} of="brand" about={`${textOf(list.about)}${more}`} />;
}

/** The brand and its competitors in this range. */
export const VOICES: TableSpec = { ...ENTITIES, page: ({ linkTo }) => linkTo('/competitors'), empty: NO_RIVALS };

/** Visibility of each engine in the range, with its interval and its change. */
export const ENGINES: TableSpec = {
  query: null,
  request: { metrics: 'visibility', group_by: 'engine', order: 'engine' },
  title: 'Engines',
  about: 'Visibility by engine in the range of this report, with its 95 % interval.',
  columns: [
    'engine',
    'visibility',
    { name: 'visibility_n', label: 'n', about: 'Responses.', unit: 'count' },
    { name: 'visibility_change', label: 'Change' },
  ],
};

/** The domains that most responses cite for competitors and none for the brand. */
export const TOP_GAPS: TableSpec = {
  ...GAPS,
  request: { limit: 10, open: true },
  page: ({ linkTo }) => linkTo('/sources', {}, { view: 'gaps' }),
  columns: GAPS.columns.slice(0, -1),
};

/** Prompts that no longer mention the brand. */
export const LOST: ReportTable = {
  title: 'Lost prompts',
  about: 'Prompts without a mention for longer than the earlier rate explains, corrected for the number of prompts.',
  query: 'report_lost_prompts',
  empty: 'No lost prompts: every streak without a mention is likely at the earlier rate.',
  page: ({ linkTo }) => linkTo('/prompts'),
  columns: [
    'prompt',
    { name: 'earlier_visibility', label: 'Before', bounds: 'earlier', n: 'earlier_responses' },
    { name: 'streak_responses', label: 'n since', about: 'Responses without a mention.' },
    { name: 'streak_upper', label: 'Since at most', unit: 'ratio' },
    { name: 'streak_days', label: 'Days' },
  ],
};

/** Alerts that the service raised. */
export const ALERTS: ReportTable = {
  title: 'Alerts',
  about: 'The newest first. Raised by the service, which reports neither sample sizes nor intervals.',
  query: 'report_alerts',
  empty: 'The service has raised no alerts.',
  page: ({ linkTo }) => linkTo('/alerts'),
  columns: [
    { name: 'headline', label: 'Alert', below: ({ detail }) => textOf(detail) || null },
    { name: 'type', value: ({ type }) => textOf(type).replaceAll('_', ' ') },
    { name: 'previous', label: 'Before' },
    { name: 'current', label: 'Now' },
    'day',
  ],
};

/** Prompts that competitors won, with the actions that are not done. */
export const PLANS: ReportTable = {
  title: 'Action plans',
  about: 'Prompts with the most responses of the last 14 days that mention competitors and not the brand.',
  query: 'report_plans',
  empty: 'Competitors won no responses in the last 14 days.',
  page: ({ linkTo }) => linkTo('/content'),
  columns: [
    'prompt',
    { name: 'lost', label: 'Won by competitors' },
    { name: 'answers', label: 'n', about: 'Responses in the 14 days.' },
    { name: 'winners', label: 'Competitors', cell: (row) => <Texts texts={textsOf(row['winners'])} /> },
    { name: 'open', label: 'Open actions', cell: (row) => <OpenActions row={row} /> },
  ],
};

function OpenActions({ row }: { readonly row: Row }): JSX.Element {
  const actions = numberOf(row['actions']) ?? 0;
  const open = textsOf(row['open']);
  if (actions === 0) return <>no plan yet: generate it in the app</>;
  if (open.length === 0) return <>all {actions} done</>;
  return (
    <>
      {open.length} of {actions}: <Texts texts={open} />
    </>
  );
}

const KINDS: Readonly<Record<string, string>> = { ai: 'cited by AI', outreach: 'could join' };

/** Forum threads that are neither dismissed nor posted to. */
export const THREADS: ReportTable = {
  title: 'Forum threads to answer',
  about: 'The newest threads that are neither dismissed nor posted to.',
  query: 'report_threads',
  empty: 'No open threads.',
  page: ({ linkTo }) => linkTo('/content'),
  columns: [
    {
      name: 'title',
      label: 'Thread',
      value: ({ title, url }) => textOf(title) || textOf(url),
      url: ({ url }) => textOf(url),
    },
    { name: 'subforum', label: 'Community' },
    { name: 'type', label: 'Kind', value: (row) => KINDS[textOf(row['type'])] ?? textOf(row['type']) },
    'status',
    'comments',
    {
      name: 'promotion_policy',
      label: 'Promotion',
      value: (row) => textOf(row['promotion_policy']) || 'rules not read yet',
    },
  ],
};

/** Articles that the service wrote. */
export const ARTICLES: ReportTable = {
  title: 'Articles',
  about: 'The newest articles of the brand.',
  query: 'report_articles',
  empty: 'No articles.',
  page: ({ linkTo }) => linkTo('/content'),
  columns: [
    { name: 'title', label: 'Article', value: (row) => textOf(row['title']) || 'untitled' },
    'status',
    { name: 'word_count', label: 'Words' },
    { name: 'day', label: 'Created' },
    { name: 'completed', unit: 'day' },
  ],
};

function Texts({ texts }: { readonly texts: readonly unknown[] }): JSX.Element {
  const shown = texts.map(textOf).filter((text) => text !== '');
  return (
    <>
      {shown.slice(0, NAMES_MAX).map((text, index) => (
        <span key={index} dir="auto" class="text">
          {text}
        </span>
      ))}
      {shown.length > NAMES_MAX && ' …'}
    </>
  );
}

function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((text) => typeof text === 'string') : [];
}
