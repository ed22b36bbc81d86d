import type { ComponentChildren, JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { Frame } from '../components/chart-frame.tsx';
import { type ColumnSpec, DataTable } from '../components/data-table.tsx';
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
  readonly id: string;
  readonly columns: readonly ColumnSpec<Row>[];
  readonly empty: string;
  readonly to: string;
}

// Each query has the column `total`, the number of rows before its limit.
function List({ title, about, query, id, columns, empty, to }: ListProps): JSX.Element {
  const { brand, linkTo, format } = useScope();
  const data = useQuery(query, brand === null ? null : { brand: brand.id });
  const rows = useMemo(() => toRecords(data.table), [data.table]);
  const all = numberOf(rows[0]?.['total']) ?? 0;
  const more = all > rows.length ? ` These are ${rows.length} of ${format.value(all, 'count')}.` : '';
  return (
    <Frame title={title} about={`${about}${more}`} data={data} empty={empty} to={linkTo(to)}>
      <DataTable caption={title} items={rows} columns={columns} keyOf={(row) => textOf(row[id])} isPlain />
    </Frame>
  );
}

const column = (id: string, label: string, more: Partial<ColumnSpec<Row>> = {}): ColumnSpec<Row> => ({
  id,
  label,
  value: (row) => (typeof row[id] === 'number' ? numberOf(row[id]) : textOf(row[id])),
  ...more,
});

/** Prompts that no longer mention the brand. */
export function LostPrompts(): JSX.Element {
  return (
    <List
      title="Lost prompts"
      about="Prompts without a mention for longer than the earlier rate explains, corrected for the number of prompts."
      query="report_lost_prompts"
      id="prompt_id"
      to="/prompts"
      empty="No lost prompts: every streak without a mention is likely at the earlier rate."
      columns={[
        column('prompt', 'Prompt', { isWide: true }),
        column('earlier_visibility', 'Before', { unit: 'ratio' }),
        column('earlier_lower', 'from', { unit: 'ratio', about: 'Lower bound of the 95 % interval.' }),
        column('earlier_upper', 'to', { unit: 'ratio', about: 'Upper bound of the 95 % interval.' }),
        column('earlier_responses', 'n before', { unit: 'count' }),
        column('streak_responses', 'n since', { unit: 'count', about: 'Responses without a mention.' }),
        column('streak_upper', 'Since at most', { unit: 'ratio' }),
        column('streak_days', 'Days', { unit: 'count' }),
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
      id="alert_id"
      to="/alerts"
      empty="The service has raised no alerts."
      columns={[
        column('day', 'Day', { unit: 'day' }),
        column('type', 'Type', { value: (row) => textOf(row['type']).replaceAll('_', ' ') }),
        column('headline', 'Alert', {
          isWide: true,
          cell: (row) => <Texts texts={[row['headline'], row['detail']]} />,
        }),
        column('previous', 'Before', { unit: 'number' }),
        column('current', 'Now', { unit: 'number' }),
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
      id="prompt_id"
      to="/content"
      empty="Competitors won no responses in the last 14 days."
      columns={[
        column('prompt', 'Prompt', { isWide: true }),
        column('lost', 'Won by competitors', { unit: 'count' }),
        column('answers', 'n', { unit: 'count', about: 'Responses in the 14 days.' }),
        column('winners', 'Competitors', { isWide: true, cell: (row) => <Texts texts={textsOf(row['winners'])} /> }),
        column('open', 'Open actions', { isWide: true, cell: (row) => <OpenActions row={row} /> }),
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
      id="opportunity_id"
      to="/content"
      empty="No open threads."
      columns={[
        column('title', 'Thread', {
          isWide: true,
          cell: (row) => <WebLink url={textOf(row['url'])}>{textOf(row['title']) || textOf(row['url'])}</WebLink>,
        }),
        column('subforum', 'Community'),
        column('type', 'Kind', { value: (row) => kinds[textOf(row['type'])] ?? textOf(row['type']) }),
        column('status', 'Status'),
        column('comments', 'Comments', { unit: 'count' }),
        column('promotion_policy', 'Promotion', {
          value: (row) => textOf(row['promotion_policy']) || 'rules not read yet',
        }),
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
      id="article_id"
      to="/content"
      empty="No articles."
      columns={[
        column('title', 'Article', { isWide: true, value: (row) => textOf(row['title']) || 'untitled' }),
        column('status', 'Status'),
        column('word_count', 'Words', { unit: 'count' }),
        column('day', 'Created', { unit: 'day' }),
        column('completed', 'Completed', { unit: 'day' }),
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

/** A link to an address of the web; other addresses are not linked. */
function WebLink({ url, children }: { readonly url: string; readonly children: ComponentChildren }): JSX.Element {
  const isWeb = /^https?:\/\//i.test(url) && URL.canParse(url);
  if (!isWeb) return <span dir="auto">{children}</span>;
  return (
    <a href={url} rel="noopener noreferrer" dir="auto">
      {children}
    </a>
  );
}

function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((text) => typeof text === 'string') : [];
}
