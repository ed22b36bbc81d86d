import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { TableBlock } from '../components/data-table.tsx';
import type { GivenColumn } from '../components/table-columns.tsx';
import { useQuery } from '../state/data.tsx';
import { useScope } from '../state/scope.tsx';
import { numberOf, type Row, textOf, toRecords } from '../state/table.ts';

/** Names in a cell of a list. */
const NAMES_MAX = 3;

interface ListProps {
  readonly title: string;
  readonly about: string;
  /** Name of the declared query. */
  readonly query: string;
  readonly columns: readonly GivenColumn[];
  readonly empty: string;
  readonly to: string;
}

// Each query has the column `total`, the number of rows before its limit.
function List({ title, about, query, columns, empty, to }: ListProps): JSX.Element {
  const { brand, linkTo, format } = useScope();
  const data = useQuery(query, brand === null ? null : { brand: brand.id });
  const rows = useMemo(() => toRecords(data.table), [data.table]);
  const all = numberOf(rows[0]?.['total']) ?? 0;
  const more = all > rows.length ? ` These are ${rows.length} of ${format.value(all, 'count')}.` : '';
  return (
    <TableBlock title={title} about={`${about}${more}`} data={data} empty={empty} to={linkTo(to)} columns={columns} />
  );
}

/** Prompts that no longer mention the brand. */
export function LostPrompts(): JSX.Element {
  return (
    <List
      title="Lost prompts"
      about="Prompts without a mention for longer than the earlier rate explains, corrected for the number of prompts."
      query="report_lost_prompts"
      to="/prompts"
      empty="No lost prompts: every streak without a mention is likely at the earlier rate."
      columns={[
        'prompt',
        { name: 'earlier_visibility', label: 'Before', bounds: 'earlier', n: 'earlier_responses' },
        { name: 'streak_responses', label: 'n since', about: 'Responses without a mention.' },
        { name: 'streak_upper', label: 'Since at most', unit: 'ratio' },
        { name: 'streak_days', label: 'Days' },
      ]}
    />
  );
}

/** Alerts that the service raised. */
export function RaisedAlerts(): JSX.Element {
  return (
    <List
      title="Alerts"
      about="The newest first. Raised by the service, which reports neither sample sizes nor intervals."
      query="report_alerts"
      to="/alerts"
      empty="The service has raised no alerts."
      columns={[
        { name: 'headline', label: 'Alert', below: ({ detail }) => textOf(detail) || null },
        { name: 'type', value: ({ type }) => textOf(type).replaceAll('_', ' ') },
        { name: 'previous', label: 'Before' },
        { name: 'current', label: 'Now' },
        'day',
      ]}
    />
  );
}

/** Prompts that competitors won, with the actions that are not done. */
export function ActionPlans(): JSX.Element {
  return (
    <List
      title="Action plans"
      about="Prompts with the most responses of the last 14 days that mention competitors and not the brand."
      query="report_plans"
      to="/content"
      empty="Competitors won no responses in the last 14 days."
      columns={[
        'prompt',
        { name: 'lost', label: 'Won by competitors' },
        { name: 'answers', label: 'n', about: 'Responses in the 14 days.' },
        { name: 'winners', label: 'Competitors', cell: (row) => <Texts texts={textsOf(row['winners'])} /> },
        { name: 'open', label: 'Open actions', cell: (row) => <OpenActions row={row} /> },
      ]}
    />
  );
}

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

/** Forum threads that are neither dismissed nor posted to. */
export function ForumThreads(): JSX.Element {
  const kinds: Readonly<Record<string, string>> = { ai: 'cited by AI', outreach: 'could join' };
  return (
    <List
      title="Forum threads to answer"
      about="The newest threads that are neither dismissed nor posted to."
      query="report_threads"
      to="/content"
      empty="No open threads."
      columns={[
        {
          name: 'title',
          label: 'Thread',
          value: ({ title, url }) => textOf(title) || textOf(url),
          url: ({ url }) => textOf(url),
        },
        { name: 'subforum', label: 'Community' },
        { name: 'type', label: 'Kind', value: (row) => kinds[textOf(row['type'])] ?? textOf(row['type']) },
        'status',
        'comments',
        {
          name: 'promotion_policy',
          label: 'Promotion',
          value: (row) => textOf(row['promotion_policy']) || 'rules not read yet',
        },
      ]}
    />
  );
}

/** Articles that the service wrote. */
export function Articles(): JSX.Element {
  return (
    <List
      title="Articles"
      about="The newest articles of the brand."
      query="report_articles"
      to="/content"
      empty="No articles."
      columns={[
        { name: 'title', label: 'Article', value: (row) => textOf(row['title']) || 'untitled' },
        'status',
        { name: 'word_count', label: 'Words' },
        { name: 'day', label: 'Created' },
        { name: 'completed', unit: 'day' },
      ]}
    />
  );
}

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
