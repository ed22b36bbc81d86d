import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import type { EventMark } from '../../charts/time-series.ts';
import { AgainstBrand } from '../../components/against-brand.tsx';
import { DomainShare } from '../../components/domain-share.tsx';
import { addDays, type Day } from '../../state/calendar-days.ts';
import { ScopeWith, useScope } from '../../state/scope.tsx';

/** Days that are shown before and after an alert. */
const DAYS = 28;
/** The page of alerts does not show these filters, but its address may have them. */
const NO_FILTERS = { engine: null, topic: null, tag: null, branded: null, prompt: null, competitor: null };

interface AlertHistoryProps {
  readonly day: Day;
  readonly competitor: string | null;
  /** Empty if the alert is about none. */
  readonly domain: string;
}

/** Visibility of the brand and of the competitor of an alert, and citations of its domain, in the days around it. */
export function AlertHistory({ day, competitor, domain }: AlertHistoryProps): JSX.Element {
  const { brands, linkTo } = useScope();
  const events = useMemo<readonly EventMark[]>(() => [{ day, kind: 'alert', label: 'Alert' }], [day]);
  const last = brands.table?.completeTo ?? day;
  const end = [addDays(day, DAYS), last].sort()[0] ?? day;
  const days = { from: addDays(day, -DAYS), to: end < day ? day : end };
  return (
    <ScopeWith changes={{ ...NO_FILTERS, ...days }} grain="day">
      <AgainstBrand
        title="Visibility around the alert"
        competitor={competitor}
        events={events}
        to={linkTo('/', { range: null, ...days })}
        linkLabel="Overview of these days"
      />
      {domain !== '' && (
        <DomainShare
          title="Citations of the domain"
          domain={domain}
          events={events}
          to={linkTo('/sources', {}, { domain })}
          linkLabel="Domain"
        />
      )}
    </ScopeWith>
  );
}
