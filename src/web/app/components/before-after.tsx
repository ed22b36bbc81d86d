import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import type { Day } from '../state/calendar-days.ts';
import { useMetrics } from '../state/data.tsx';
import { useScope } from '../state/scope.tsx';
import { textOf, toRecords } from '../state/table.ts';
import { TableBlock } from './data-table.tsx';
import type { GivenColumn } from './table-columns.tsx';

interface BeforeAfterProps {
  readonly title: string;
  readonly about: string;
  /** The days after the event; they are compared with as many days before them. */
  readonly from: Day;
  readonly to: Day;
  /** Responses to this prompt only. */
  readonly prompt?: string;
  /** Competitor shown beside the brand; null for none. */
  readonly competitor?: string | null;
}

const COLUMNS: readonly GivenColumn[] = [
  {
    name: 'entity',
    value: ({ entity }) => textOf(entity),
    dot: ({ competitor_id: id }, { entityColour }) => entityColour(textOf(id) || null),
    to: () => null,
  },
  { name: 'visibility_before', label: 'Before', unit: 'ratio' },
  { name: 'visibility', label: 'After' },
  { name: 'visibility_change', label: 'Change' },
  { name: 'visibility_n', label: 'n', about: 'Responses after.', unit: 'count' },
];

/** Visibility before and after an event, with samples, interval and test of the difference. */
export function BeforeAfter({ from, to, prompt, competitor = null, ...frame }: BeforeAfterProps): JSX.Element {
  const { brand } = useScope();
  const data = useMetrics(
    brand && {
      metrics: 'visibility',
      group_by: 'entity',
      brand: brand.id,
      prompt,
      from,
      to,
      compare_to: 'previous',
    },
  );
  const rows = useMemo(
    () => toRecords(data.table).filter(({ competitor_id: id }) => id === null || id === competitor),
    [data.table, competitor],
  );
  return <TableBlock {...frame} data={data} empty="No responses in these days." rows={rows} columns={COLUMNS} />;
}
