import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { TableBlock } from '../../components/data-table.tsx';
import { Explained, Mark, StatisticValue } from '../../components/measured.tsx';
import type { GivenColumn } from '../../components/table-columns.tsx';
import { adjustedOf, differenceOf, type Estimate } from '../../state/difference.ts';
import { useScope } from '../../state/scope.tsx';
import { measurementOf } from '../../state/series.ts';
import { MEASURES, type Measure, measureOf } from '../../state/shown-measures.ts';
import { numberOf, type Row, textOf, toRecords } from '../../state/table.ts';
import { useBothSides } from './both-sides.ts';
import type { Kind, Side } from './sides.ts';

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
  const firstDay = useScope().brand?.firstDay ?? '';
  const unread = sides.filter(
    ({ days }, index) =>
      kind === 'period' && ((index === 0 ? a : b).table?.partial === true || (days !== null && days.from < firstDay)),
  );
  const isCompared = unread.length === 0;
  const rows = useMemo(
    () => comparedOf(toRecords(a.table)[0] ?? null, toRecords(b.table)[0] ?? null, isCompared),
    [a.table, b.table, isCompared],
  );
  const [first, second] = sides;
  const reason = `No comparison: not every day of ${unread.map(({ label }) => label).join(' and ')} is read completely.`;
  const columns = useMemo(() => columnsOf(first.label, second.label), [first.label, second.label]);
  return (
    <TableBlock
      title="Measures"
      about="The difference is the first less the second, with its 95 % interval. It is significant if chance rarely explains it: the p value, corrected for the five measures, is at most 0.05 and the interval excludes zero."
      data={both}
      rows={rows}
      columns={columns}
      hidden={HIDDEN}
      sentence={isCompared ? noteOf(kind, sides) : reason}
      isMatrix
    />
  );
}

/** Returns a row for each measure in the rows of both sides. */
function comparedOf(first: Row | null, second: Row | null, isCompared: boolean): readonly Row[] {
  const compared = MEASURES.map(({ name }) => {
    const [a, b] = [estimateOf(first, name), estimateOf(second, name)] as const;
    const kind = name === 'visibility' ? 'share' : 'ratio';
    return { name, a, b, difference: differenceOf(kind, isCompared ? a : { ...a, value: null }, b) };
  });
  const adjusted = adjustedOf(compared.map(({ difference }) => difference.p));
  return compared.map(({ name, a, b, difference }, index): Row => {
    const p = adjusted[index] ?? null;
    const { lower, upper } = difference;
    const excludesZero = lower !== null && upper !== null && (lower > 0 || upper < 0);
    const isSignificant = p === null ? null : p <= LEVEL && excludesZero;
    return { name, ...sideOf('a', a), ...sideOf('b', b), ...difference, p_adjusted: p, isSignificant };
  });
}

function sideOf(name: string, { value, lower, upper, n }: Estimate): Row {
  return { [name]: value, [`${name}_lower`]: lower, [`${name}_upper`]: upper, [`${name}_n`]: n };
}

function estimateOf(row: Row | null, name: string): Estimate {
  return { ...measurementOf(row, name), numerator: numberOf(row?.[`${name}_numerator`]) };
}

const measureIn = (row: Row): Measure => measureOf(textOf(row['name']));
const HIDDEN: readonly GivenColumn[] = [
  { name: 'p', about: 'Two-sided p value.', unit: 'number', cell: (row, { format }) => format.p(numberOf(row['p'])) },
  'p_adjusted',
  { name: 'test', value: ({ test }) => textOf(test) || 'not tested' },
];

function columnsOf(first: string, second: string): readonly GivenColumn[] {
  const side = (name: 'a' | 'b', label: string): GivenColumn => ({
    name,
    label,
    unit: 'number',
    cell: (row) => (
      <StatisticValue
        title={label}
        label={measureIn(row).title}
        statistic={measurementOf(row, name)}
        unit={measureIn(row).unit}
      />
    ),
  });
  return [
    { name: 'name', label: 'Measure', value: (row) => measureIn(row).title },
    side('a', first),
    side('b', second),
    {
      name: 'difference',
      about: 'The first less the second. Green: the first is better.',
      unit: 'number',
      cell: (row) => <DifferenceCell row={row} />,
    },
  ];
}

function DifferenceCell({ row }: { readonly row: Row }): JSX.Element {
  const { title, unit, isHigherBetter } = measureIn(row);
  const value = numberOf(row['difference']);
  const isSignificant = typeof row['isSignificant'] === 'boolean' ? row['isSignificant'] : null;
  const change = { change: value, lower: numberOf(row['lower']), upper: numberOf(row['upper']), isSignificant };
  const about = textOf(row['test']) || 'Not tested.';
  const p = numberOf(row['p_adjusted']);
  return (
    <Explained title={title} about={about} statistic={{ change, p }} unit={unit}>
      <Mark change={change} unit={unit} isHigherBetter={isHigherBetter} />
    </Explained>
  );
}

// The tests require independent samples.
function noteOf(kind: Kind, [first, second]: readonly [Side, Side]): string | undefined {
  if (first.id === second.id) return 'Both sides are the same.';
  if (kind === 'tag') {
    return 'A prompt can have both tags; its responses are then in both samples, and the interval of the difference is too wide.';
  }
  const [a, b] = [first.days, second.days];
  if (a === null || b === null || a.to < b.from || b.to < a.from) return undefined;
  return 'The periods overlap: the responses of common days are in both samples, so the test does not apply.';
}
