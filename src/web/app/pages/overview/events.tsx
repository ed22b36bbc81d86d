import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import type { EventMark } from '../../charts/time-series.ts';
import { useQuery } from '../../state/data.tsx';
import { Link } from '../../state/router.tsx';
import { useScope } from '../../state/scope.tsx';
import { textOf, toRecords } from '../../state/table.ts';

const KINDS: Readonly<Record<EventMark['kind'], { readonly symbol: string; readonly label: string }>> = {
  alert: { symbol: '▲', label: 'alert' },
  article: { symbol: '■', label: 'published article' },
  prompts: { symbol: '◆', label: 'change of the set of prompts' },
};

/** The events of the range that may explain a jump. */
export function useEvents(): readonly EventMark[] {
  const { params } = useScope();
  const { table } = useQuery('series_events', params);
  return useMemo(
    () =>
      toRecords(table).map((row) => ({
        day: textOf(row['day']),
        kind: textOf(row['kind']) as EventMark['kind'],
        label: textOf(row['sentence']),
      })),
    [table],
  );
}

/** Events that are listed below the chart. */
const LISTED_MAX = 3;

/** The kinds of the marked events, and the newest events. */
export function EventNote({ events }: { readonly events: readonly EventMark[] }): JSX.Element | null {
  const { format, linkTo } = useScope();
  if (events.length === 0) return <p>No alert, published article or change of the set of prompts in this range.</p>;
  const paths = { alert: '/alerts', article: '/content', prompts: '/prompts' } as const;
  const kinds = [...new Set(events.map(({ kind }) => kind))];
  return (
    <>
      <p>
        Marks: {kinds.map((kind) => `${KINDS[kind].symbol} ${KINDS[kind].label}`).join(', ')}.
        {kinds.includes('prompts') &&
          ' A change of the set of prompts changes which responses are counted, and explains many jumps: compare the same prompts before and after it.'}
      </p>
      <ul class="events">
        {events.slice(-LISTED_MAX).map(({ day, kind, label }) => (
          <li key={`${day}${kind}`}>
            <span aria-hidden="true">{KINDS[kind].symbol} </span>
            <Link to={linkTo(paths[kind])}>{format.shortDay(day)}</Link> <span dir="auto">{label}</span>
          </li>
        ))}
        {events.length > LISTED_MAX && <li>{events.length - LISTED_MAX} earlier marks are in the chart.</li>}
      </ul>
    </>
  );
}
