import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { BeforeAfter } from '../../components/before-after.tsx';
import { Frame } from '../../components/chart-frame.tsx';
import { RowFacts } from '../../components/row-facts.tsx';
import { StateList } from '../../components/state-history.tsx';
import type { GivenColumn } from '../../components/table-columns.tsx';
import { addDays, type Day } from '../../state/calendar-days.ts';
import { useQuery } from '../../state/data.tsx';
import { useScope } from '../../state/scope.tsx';
import { type Row, type Table, textOf, toRecords } from '../../state/table.ts';
import { AlertHistory } from './alert-history.tsx';
import { typeLabel } from './alert-types.ts';
import '../../styles/content.css';

/** Days of each side of a comparison. */
const DAYS = 7;

/** One alert: the report of the service, and the stored responses of these days. */
export function AlertDetail({ id }: { readonly id: string }): JSX.Element {
  const { brand, linkTo } = useScope();
  const data = useQuery('alert_detail', brand && { brand: brand.id, alert: id });
  const row = useMemo(() => toRecords(data.table)[0] ?? null, [data.table]);
  const day = textOf(row?.['day']);
  const domain = textOf(row?.['domain']);
  return (
    <div class="grid">
      <Frame
        title={textOf(row?.['headline']) || 'Alert'}
        data={data}
        to={linkTo('/alerts')}
        linkLabel="All alerts"
        empty="No alert with this id is stored for this brand."
      >
        {row !== null && data.table !== null && <AlertFacts row={row} table={data.table} />}
      </Frame>
      {row !== null && day !== '' && (
        <>
          <AlertHistory day={day} competitor={textOf(row['competitor_id']) || null} domain={domain} />
          <Comparisons day={day} competitor={textOf(row['competitor_id']) || null} />
        </>
      )}
    </div>
  );
}

const around = (row: Row) => {
  const day = textOf(row['day']) || '2000-01-01';
  return { range: null, from: addDays(day, -DAYS), to: addDays(day, DAYS) };
};

const FACTS: readonly GivenColumn[] = [
  { name: 'type', value: ({ type }) => typeLabel(textOf(type)) },
  { name: 'detected_at', label: 'Detected' },
  {
    name: 'previous',
    label: 'Reported',
    about: 'The API does not define these numbers.',
    cell: ({ previous, current }, { format }) =>
      `${format.value(previous, 'number')} before, ${format.value(current, 'number')} then`,
  },
  { name: 'competitor', dot: () => null },
  'domain',
  { name: 'versions', label: 'Recorded', cell: (row) => <Versions row={row} /> },
  {
    name: 'responses',
    value: () => 'Responses around the alert',
    to: (row, { linkTo }) => linkTo('/responses', around(row)),
  },
  { name: 'prompts', value: () => 'Prompts that changed', to: (row, { linkTo }) => linkTo('/prompts', around(row)) },
  {
    name: 'explain',
    value: () => 'Why visibility changed in the days before',
    to: ({ day }, { linkTo }) =>
      linkTo('/explain', { range: null, from: addDays(textOf(day) || '2000-01-01', 1 - DAYS), to: textOf(day) }),
  },
];

function AlertFacts({ row, table }: { readonly row: Row; readonly table: Table }): JSX.Element {
  return (
    <>
      <p dir="auto" class="detail">
        {textOf(row['detail'])}
      </p>
      <RowFacts table={table} columns={FACTS} />
    </>
  );
}

const CHANGES: Readonly<Record<string, string>> = { inserted: 'listed', updated: 'changed', restored: 'listed again' };

interface Version {
  readonly since?: string;
  readonly change?: string;
  readonly headline?: string;
}

function Versions({ row }: { readonly row: Row }): JSX.Element {
  const versions = Array.isArray(row['versions']) ? (row['versions'] as readonly Version[]) : [];
  const gone = textOf(row['gone_at']) || null;
  const states = versions.map(({ since = '', change = '', headline = '' }) => {
    const named = CHANGES[change] ?? change;
    const status = versions.length > 1 ? `${named}: ${headline}` : named;
    return { status, since, until: null };
  });
  return <StateList states={states} goneAt={gone} />;
}

interface ComparisonsProps {
  readonly day: Day;
  readonly competitor: string | null;
}

// Compares the days up to the alert with the days before them, and the days after the alert with the days up to it.
function Comparisons({ day, competitor }: ComparisonsProps): JSX.Element {
  const { brands, format } = useScope();
  const last = brands.table?.completeTo ?? day;
  const after = { from: addDays(day, 1), to: [addDays(day, DAYS), last].sort()[0] ?? day };
  return (
    <>
      <BeforeAfter
        title="Up to the alert"
        about={`Visibility in the ${DAYS} days up to ${format.day(day)} ("after") against the ${DAYS} days before them. Tests are corrected for all competitors.`}
        from={addDays(day, 1 - DAYS)}
        to={day}
        competitor={competitor}
      />
      {after.from <= after.to && (
        <BeforeAfter
          title="Since the alert"
          about={`Visibility of ${format.days(after.from, after.to)} ("after") against as many days up to the alert.`}
          {...after}
          competitor={competitor}
        />
      )}
    </>
  );
}
