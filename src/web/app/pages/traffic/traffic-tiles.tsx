import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { Tile } from '../../components/tile.tsx';
import type { LoadedTable } from '../../state/data.tsx';
import { useScope } from '../../state/scope.tsx';
import { numberOf, type Row, textOf, toRecords } from '../../state/table.ts';

interface TrafficTilesProps {
  readonly sources: LoadedTable;
  readonly property: LoadedTable;
}

const COUNTS = [
  ['sessions', 'AI sessions', 'Sessions that AI assistants referred.'],
  ['engaged_sessions', 'Engaged sessions', 'Sessions that the analytics property counts as engaged.'],
  ['new_users', 'New users', 'Users whose first visit an AI assistant referred.'],
  ['key_events', 'Key events', 'Key events in sessions that AI assistants referred.'],
] as const;

/** The sums of the range with their changes. Counts are complete, not samples, so that they have no interval. */
export function TrafficTiles({ sources, property }: TrafficTilesProps): JSX.Element {
  const rows = useMemo(() => toRecords(sources.table), [sources.table]);
  const site = toRecords(property.table)[0] ?? null;
  const { format } = useScope();
  const currencies = [...new Set(rows.map(({ currency }) => textOf(currency)))];
  const isWaiting = sources.table === null;
  const common = { table: sources.table, isLoading: isWaiting && sources.error === null };
  const siteDays = numberOf(site?.['site_days'] ?? null) ?? 0;
  const days = numberOf(site?.['days'] ?? null) ?? 0;
  return (
    <div class="tiles">
      {COUNTS.map(([name, title, about]) => (
        <Tile
          key={name}
          title={title}
          about={about}
          unit="count"
          {...sumOf(rows, name)}
          {...common}
          {...(isWaiting && { value: null })}
        />
      ))}
      {currencies.map((currency) => (
        <Tile
          key={currency}
          title={currency === '' ? 'Revenue' : `Revenue, ${currency}`}
          about="Revenue of sessions that AI assistants referred. Currencies are not converted."
          unit="money"
          {...sumOf(
            rows.filter((row) => textOf(row['currency']) === currency),
            'revenue',
          )}
          {...common}
        />
      ))}
      <Tile
        title="Share of site"
        about={`AI sessions as a share of all sessions of the site, over the ${format.value(siteDays, 'count')} of ${format.value(days, 'count')} days for which the API reported site sessions.`}
        unit="ratio"
        value={numberOf(site?.['share_of_site'] ?? null)}
        n={numberOf(site?.['site_sessions'] ?? null)}
        table={property.table}
        isLoading={property.isLoading || (property.table === null && property.error === null)}
      />
    </div>
  );
}

function sumOf(rows: readonly Row[], name: string) {
  const total = (column: string): number => rows.reduce((sum, row) => sum + (numberOf(row[column]) ?? 0), 0);
  const isCompared = rows.some((row) => numberOf(row[`${name}_before`]) !== null);
  const value = total(name);
  const before = isCompared ? total(`${name}_before`) : null;
  const change = { change: before === null ? null : value - before, lower: null, upper: null, isSignificant: null };
  return { value, before, change };
}
