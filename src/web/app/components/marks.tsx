import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { useScope } from '../state/scope.tsx';

const SHAPES: Readonly<Record<string, string>> = {
  good: 'M3.5 8.5l3 3 6-7',
  busy: 'M8 3v5l3.5 2',
  attention: 'M8 3.5v6M8 12.2v.3',
  problem: 'M4 4l8 8M12 4l-8 8',
};

/** A sign of a state, which differs in shape as well as colour, before its text. */
export function Marked({
  level,
  children,
}: {
  readonly level: string;
  readonly children?: ComponentChildren;
}): JSX.Element {
  return (
    <span class="marked">
      <svg viewBox="0 0 16 16" class={`sign ${level}`} aria-hidden="true">
        <circle cx="8" cy="8" r="8" class="disc" />
        <path d={SHAPES[level] ?? ''} class="mark" />
      </svg>
      {children}
    </span>
  );
}

const RENEW_MS = 15_000;
const MINUTE_MS = 60_000;
const DAY_MINUTES = 1_440;

/** The distance of a time from now, past or future; the title has the time. */
export function Age({
  time,
  never = 'never',
}: {
  readonly time: string | number | null;
  readonly never?: string;
}): JSX.Element {
  const { format } = useScope();
  const [nowMs, setNowMs] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNowMs(Date.now()), RENEW_MS);
    return () => clearInterval(timer);
  }, []);
  if (time === null) return <span>{never}</span>;
  const iso = new Date(time).toISOString();
  return (
    <time dateTime={iso} title={`${format.time(iso)}, ${format.localTime(iso)} (your time)`}>
      {relative(Date.parse(iso), Math.max(nowMs, 0))}
    </time>
  );
}

function relative(atMs: number, nowMs: number): string {
  const minutes = Math.round(Math.abs(nowMs - atMs) / MINUTE_MS);
  const isAhead = atMs > nowMs;
  if (minutes < 1) return isAhead ? 'in a moment' : 'just now';
  const [amount, unit] =
    minutes < 60
      ? [minutes, 'minute']
      : minutes < 1.5 * DAY_MINUTES
        ? [Math.round(minutes / 60), 'hour']
        : [Math.round(minutes / DAY_MINUTES), 'day'];
  const text = `${amount} ${unit}${amount === 1 ? '' : 's'}`;
  return isAhead ? `in ${text}` : `${text} ago`;
}

export interface PlainTableProps {
  readonly caption: string;
  /** Columns with `#` in front have numbers. */
  readonly columns: readonly string[];
  /** Definitions of the columns. */
  readonly about?: readonly (string | undefined)[];
  /** The first cell of each row is its header. */
  readonly rows: readonly (readonly ComponentChildren[])[];
}

/** A table of a few rows as they are. Phones show each cell in a line with the name of its column. */
export function PlainTable({ caption, columns, about = [], rows }: PlainTableProps): JSX.Element {
  const kind = (index: number): string | undefined => (columns[index]?.startsWith('#') === true ? 'number' : undefined);
  return (
    <section class="table-box plain" tabIndex={0} aria-label={caption}>
      <table>
        <thead>
          <tr>
            {columns.map((column, index) => (
              <th key={index} scope="col" class={kind(index)} title={about[index]}>
                {column.replace('#', '')}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((cells, row) => (
            <tr key={row}>
              {cells.map((cell, index) =>
                index === 0 ? (
                  <th key={index} scope="row" class={kind(index)} dir="auto">
                    {cell}
                  </th>
                ) : (
                  <td key={index} class={kind(index)} dir="auto" data-label={columns[index]?.replace('#', '')}>
                    {cell}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
