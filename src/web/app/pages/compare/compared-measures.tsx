import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { Frame } from '../../components/chart-frame.tsx';
import { type ColumnSpec, DataTable } from '../../components/data-table.tsx';
import { Mark, StatisticValue } from '../../components/measured.tsx';
import { adjustedOf, type Difference, differenceOf, type Estimate } from '../../state/difference.ts';
import { NO_VALUE } from '../../state/format.ts';
import { useScope } from '../../state/scope.tsx';
import { measurementOf } from '../../state/series.ts';
import { MEASURES, type Measure } from '../../state/shown-measures.ts';
import { numberOf, type Row, toRecords } from '../../state/table.ts';
import { useBothSides } from './both-sides.ts';
import type { Kind, Side } from './sides.ts';

interface Compared {
  readonly measure: Measure;
  readonly a: Estimate;
  readonly b: Estimate;
  readonly difference: Difference;
  readonly adjusted: number | null;
  readonly isSignificant: boolean | null;
}

/** Largest corrected p value of a significant difference. */
const LEVEL = 0.05;

/** The five measures of both sides, with their difference, its interval and its test. */
export function ComparedMeasures({
  kind,
  sides,
}: {
  readonly kind: Kind;
  readonly sides: readonly [Side, Side];
}): JSX.Element {
  const { a, b, both } = useBothSides(sides, { metrics: MEASURES.map(({ name }) => name).join() });
  const items = useMemo(
    () => comparedOf(toRecords(a.table)[0] ?? null, toRecords(b.table)[0] ?? null),
    [a.table, b.table],
  );
  const columns = useColumns(sides);
  const note = noteOf(kind, sides);
  return (
    <Frame
      title="Measures"
      about="The difference is the first less the second, with its 95 % interval. It is significant if chance rarely explains it: the p value, corrected for the five measures, is at most 0.05 and the interval excludes zero."
      data={both}
    >
      {note !== null && <p class="quiet">{note}</p>}
      <DataTable caption="Measures" items={items} columns={columns} keyOf={({ measure }) => measure.name} isPlain />
    </Frame>
  );
}

/** Returns the comparison of each measure in the rows of both sides. */
function comparedOf(first: Row | null, second: Row | null): readonly Compared[] {
  const compared = MEASURES.map((measure) => {
    const [a, b] = [estimateOf(first, measure.name), estimateOf(second, measure.name)] as const;
    return { measure, a, b, difference: differenceOf(measure.name === 'visibility' ? 'share' : 'ratio', a, b) };
  });
  const adjusted = adjustedOf(compared.map(({ difference }) => difference.p));
  return compared.map((each, index) => {
    const p = adjusted[index] ?? null;
    const { lower, upper } = each.difference;
    const excludesZero = lower !== null && upper !== null && (lower > 0 || upper < 0);
    return { ...each, adjusted: p, isSignificant: p === null ? null : p <= LEVEL && excludesZero };
  });
}

function estimateOf(row: Row | null, name: string): Estimate {
  return { ...measurementOf(row, name), numerator: numberOf(row?.[`${name}_numerator`]) };
}

function useColumns([first, second]: readonly [Side, Side]): readonly ColumnSpec<Compared>[] {
  const { format } = useScope();
  return useMemo(() => {
    const side = (id: 'a' | 'b', label: string): ColumnSpec<Compared> => ({
      id,
      label,
      unit: 'number',
      value: (item) => item[id].value,
      cell: (item) => <StatisticValue title={label} statistic={item[id]} unit={item.measure.unit} />,
    });
    return [
      {
        id: 'measure',
        label: 'Measure',
        value: ({ measure }) => measure.title,
        cell: ({ measure }) => <span title={measure.about}>{measure.title}</span>,
      },
      side('a', first.label),
      side('b', second.label),
      {
        id: 'difference',
        label: 'Difference',
        about: 'The first less the second. Green: the first is better.',
        unit: 'number',
        value: ({ difference }) => difference.difference,
        cell: ({ measure, difference, isSignificant }) => (
          <Mark
            change={{ change: difference.difference, isSignificant }}
            unit={measure.unit}
            isHigherBetter={measure.isHigherBetter}
          />
        ),
      },
      {
        id: 'interval',
        label: '95 % interval',
        about: 'Interval of the difference.',
        unit: 'number',
        value: ({ difference }) => difference.lower,
        cell: ({ measure, difference: { lower, upper } }) =>
          lower === null || upper === null ? NO_VALUE : format.changes(lower, upper, measure.unit),
      },
      {
        id: 'p',
        label: 'p',
        about: 'Two-sided p value, and below it corrected for the five measures (Benjamini and Hochberg).',
        unit: 'number',
        value: ({ difference }) => difference.p,
        cell: ({ difference, adjusted }) => (
          <>
            {format.p(difference.p)}
            {adjusted !== null && <span class="beside">corrected {format.p(adjusted)}</span>}
          </>
        ),
      },
      {
        id: 'test',
        label: 'Test',
        value: ({ difference }) => difference.test ?? 'not tested',
      },
    ];
  }, [first.label, second.label, format]);
}

// The tests require independent samples.
function noteOf(kind: Kind, [first, second]: readonly [Side, Side]): string | null {
  if (first.id === second.id) return 'Both sides are the same.';
  if (kind === 'tag') {
    return 'A prompt can have both tags; its responses are then in both samples, and the interval of the difference is too wide.';
  }
  const [a, b] = [first.days, second.days];
  if (a === null || b === null || a.to < b.from || b.to < a.from) return null;
  return 'The periods overlap: the responses of common days are in both samples, so the test does not apply.';
}
