import type { JSX } from 'preact';
import { useCallback, useMemo } from 'preact/hooks';
import { BeforeAfter } from '../../components/before-after.tsx';
import { Frame } from '../../components/chart-frame.tsx';
import { Timestamp } from '../../components/parts.tsx';
import { addDays, type Day } from '../../state/calendar-days.ts';
import { useMetrics, useQuery } from '../../state/data.tsx';
import { Link } from '../../state/router.tsx';
import { useScope } from '../../state/scope.tsx';
import { type Row, textOf, toRecords } from '../../state/table.ts';
import { AlertHistory, DomainHistory } from './alert-history.tsx';
import { typeLabel } from './alert-types.ts';
import '../../styles/content.css';

/** Days of each side of a comparison. */
const DAYS = 7;

/** One alert: the report of the service, and the stored responses of these days. */
export function AlertDetail({ id }: { readonly id: string }): JSX.Element {
  const { brand, linkTo } = useScope();
  const data = useQuery('alert_detail', brand === null ? null : { brand: brand.id, alert: id });
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
        {row !== null && <AlertFacts row={row} day={day} />}
      </Frame>
      {row !== null && day !== '' && (
        <>
          <AlertHistory day={day} competitor={textOf(row['competitor_id']) || null} />
          <Comparisons day={day} competitor={textOf(row['competitor_id']) || null} />
          {domain !== '' && <DomainHistory day={day} domain={domain} />}
        </>
      )}
    </div>
  );
}

function AlertFacts({ row, day }: { readonly row: Row; readonly day: Day }): JSX.Element {
  const { linkTo, format } = useScope();
  const until = { range: null, from: addDays(day || '2000-01-01', 1 - DAYS), to: day };
  const around = { range: null, from: addDays(day || '2000-01-01', -DAYS), to: addDays(day || '2000-01-01', DAYS) };
  const competitor = textOf(row['competitor_id']);
  const gone = textOf(row['gone_at']) || null;
  return (
    <>
      <p dir="auto" class="detail">
        {textOf(row['detail'])}
      </p>
      <dl class="facts">
        <dt>Type</dt>
        <dd>{typeLabel(textOf(row['type']))}</dd>
        <dt>Detected</dt>
        <dd>
          <Timestamp time={textOf(row['detected_at']) || null} />
        </dd>
        <dt>Reported</dt>
        <dd>
          {format.value(row['previous'], 'number')} before, {format.value(row['current'], 'number')} then. The API does
          not define these numbers.
        </dd>
        <dt>Competitor</dt>
        <dd>
          {competitor === '' ? (
            <bdi>{textOf(row['competitor']) || 'none'}</bdi>
          ) : (
            <Link to={linkTo('/competitors', { competitor })} dir="auto">
              {textOf(row['competitor'])}
            </Link>
          )}
        </dd>
        <dt>Domain</dt>
        <dd>
          {textOf(row['domain']) === '' ? (
            'none'
          ) : (
            <Link to={linkTo('/sources', {}, { domain: textOf(row['domain']) })}>{textOf(row['domain'])}</Link>
          )}
        </dd>
        <dt>Recorded</dt>
        <dd>
          <Versions row={row} />
          {gone !== null && (
            <>
              {' '}
              Not listed by the API since <Timestamp time={gone} />. This is the last recorded version.
            </>
          )}
        </dd>
        <dt>Responses</dt>
        <dd>
          <Link to={linkTo('/responses', around)}>Responses around the alert</Link>,{' '}
          <Link to={linkTo('/prompts', around)}>prompts that changed</Link>
        </dd>
        <dt>Explain</dt>
        <dd>
          <Link to={linkTo('/explain', until)}>Why visibility changed in the days before</Link>
        </dd>
      </dl>
    </>
  );
}

interface Version {
  readonly since?: string;
  readonly change?: string;
  readonly headline?: string;
}

function Versions({ row }: { readonly row: Row }): JSX.Element {
  const versions = Array.isArray(row['versions']) ? (row['versions'] as readonly Version[]) : [];
  if (versions.length === 0) return <span>History not recorded.</span>;
  return (
    <ol class="states">
      {versions.map(({ since, change, headline }) => (
        <li key={`${since}${change}`}>
          {change} <Timestamp time={textOf(since) || null} />
          {versions.length > 1 && (
            <>
              : <bdi>{textOf(headline)}</bdi>
            </>
          )}
        </li>
      ))}
    </ol>
  );
}

interface ComparisonsProps {
  readonly day: Day;
  readonly competitor: string | null;
}

// The alert is checked against the days up to it, and the days after it against those.
function Comparisons({ day, competitor }: ComparisonsProps): JSX.Element {
  const { brand, brands, entityColour } = useScope();
  const last = brands.table?.completeTo ?? day;
  const ask = (from: Day, to: Day) =>
    brand === null || from > to
      ? null
      : { metrics: 'visibility', group_by: 'entity', brand: brand.id, from, to, compare_to: 'previous' };
  const at = useMetrics(ask(addDays(day, 1 - DAYS), day));
  const to = [addDays(day, DAYS), last].sort()[0] ?? day;
  const isOver = addDays(day, 1) <= to;
  const after = useMetrics(ask(addDays(day, 1), to));
  const nameOf = useCallback(
    (row: Row) => {
      const id = textOf(row['competitor_id']) || null;
      if (id !== null && id !== competitor) return null;
      return { name: textOf(row['entity']), colour: entityColour(id) };
    },
    [competitor, entityColour],
  );
  return (
    <>
      <BeforeAfter
        title="Up to the alert"
        about={`Visibility in the ${DAYS} days up to ${day} ("after") against the ${DAYS} days before them. Tests are corrected for all competitors.`}
        data={at}
        nameOf={nameOf}
      />
      {isOver && (
        <BeforeAfter
          title="Since the alert"
          about={`Visibility from ${addDays(day, 1)} to ${to} ("after") against as many days up to the alert.`}
          data={after}
          nameOf={nameOf}
        />
      )}
    </>
  );
}
