import type { ComponentChildren, JSX } from 'preact';
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { daysBetween } from '../state/calendar-days.ts';
import { type Format, NO_VALUE, type Unit } from '../state/format.ts';
import { usePaper } from '../state/paper.ts';
import { type Scope, useScope } from '../state/scope.tsx';
import type { Change, Statistic } from '../state/series.ts';
import { placeBelow } from './popup.tsx';

export interface MarkProps {
  readonly change: Pick<Change, 'change' | 'isSignificant'>;
  readonly unit: Unit;
  /** Whether higher values are better. Null for measures that are neither. */
  readonly isHigherBetter: boolean | null;
  /** Value before the change of a complete count, which is shown in per cent and without a test. */
  readonly countBefore?: number | null;
  /** Shows the size of the change to screen readers only. */
  readonly isSignOnly?: boolean;
}

/** The sign and the size of a change: an arrow beyond chance, which points up for an improvement, and ≈ within chance. */
export function Mark(props: MarkProps): JSX.Element {
  const { change: tested, unit, isHigherBetter, countBefore, isSignOnly = false } = props;
  const { change, isSignificant } = tested;
  const { format } = useScope();
  if (change === null) return <span class="delta">{NO_VALUE}</span>;
  const isCount = countBefore !== undefined;
  const isShown = isSignificant === true || isCount;
  const isRise = isHigherBetter === false ? change < 0 : change > 0;
  const isGood = isHigherBetter === null || change === 0 ? null : change > 0 === isHigherBetter;
  const tone = !isShown || isGood === null ? 'neutral' : isGood ? 'good' : 'bad';
  const size = isCount ? countChange(change, countBefore, format) : format.difference(change, unit, isShown);
  const sign = !isShown ? '≈' : change === 0 ? '' : isRise ? '▲' : '▼';
  const meaning = !isShown ? 'no clear change, ' : change === 0 ? '' : change > 0 ? 'rose by ' : 'fell by ';
  return (
    <span class="delta" data-tone={tone} data-beyond={isShown}>
      <span aria-hidden="true">{sign} </span>
      <span class="hidden-text">{meaning}</span>
      <span class={isSignOnly ? 'hidden-text' : undefined}>{size}</span>
    </span>
  );
}

// A change from nothing has no percentage.
function countChange(change: number, before: number | null, format: Format): string {
  if (before === null || before === 0) return format.difference(change, 'count', true);
  return format.value(Math.abs(change) / before, 'ratio');
}

export interface ExplainedProps {
  /** What the number is. */
  readonly title: string;
  /** Name of the value in the list of its statistics. */
  readonly label?: string | undefined;
  readonly about?: string | undefined;
  readonly statistic: Partial<Statistic>;
  readonly unit: Unit;
  /** Why there is no comparison. */
  readonly notCompared?: string | null;
  readonly children: ComponentChildren;
}

/** A number with its statistics: on hover, focus and tap in a browser, and below the number in a report. */
export function Explained(props: ExplainedProps): JSX.Element {
  const { title, label, about, statistic, unit, notCompared = null, children } = props;
  const scope = useScope();
  const id = useId();
  const anchor = useRef<HTMLButtonElement>(null);
  const panel = useRef<HTMLDivElement>(null);
  const [isOpen, setIsOpen] = useState(false);
  const paper = usePaper();
  useLayoutEffect(() => {
    if (!isOpen || panel.current === null || anchor.current === null) return;
    panel.current.showPopover();
    placeBelow(anchor.current, panel.current);
  }, [isOpen]);
  if (paper !== null) return <PaperStatistic {...props} />;
  const close = (): void => setIsOpen(false);
  return (
    <span
      class="explained"
      onPointerEnter={({ pointerType }) => pointerType === 'mouse' && setIsOpen(true)}
      onPointerLeave={({ pointerType }) => pointerType === 'mouse' && close()}
    >
      <button
        ref={anchor}
        type="button"
        class="number-button"
        aria-expanded={isOpen}
        aria-describedby={isOpen ? id : undefined}
        onClick={() => setIsOpen(true)}
        onFocus={() => setIsOpen(true)}
        onBlur={close}
        onKeyDown={({ key }) => key === 'Escape' && close()}
      >
        {children}
      </button>
      {isOpen && (
        <div ref={panel} id={id} popover="manual" role="tooltip" class="popup facts-popup">
          <b dir="auto">{title}</b>
          <dl>
            {factsOf({ label, statistic, unit, notCompared }, scope).map(([name, text]) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{text}</dd>
              </div>
            ))}
          </dl>
          {about !== undefined && <p>{about}</p>}
        </div>
      )}
    </span>
  );
}

// A report has no scripts.
function PaperStatistic({ statistic, unit, children }: ExplainedProps): JSX.Element {
  const { format } = useScope();
  const { lower = null, upper = null, n = null, before = null, beforeSample = null } = statistic;
  return (
    <>
      {children}
      {lower !== null && upper !== null && <span class="beside">{format.interval(lower, upper, unit)}</span>}
      {n !== null && (
        <span class="beside">
          {`n = ${format.value(n, 'count')}${before === null || beforeSample === null ? '' : `, ${format.value(beforeSample, 'count')} before`}`}
        </span>
      )}
    </>
  );
}

function factsOf(
  {
    label = 'Value',
    statistic,
    unit,
    notCompared,
  }: Pick<ExplainedProps, 'label' | 'statistic' | 'unit' | 'notCompared'>,
  scope: Scope,
): readonly (readonly [string, string])[] {
  const { format } = scope;
  const {
    value = null,
    lower = null,
    upper = null,
    n = null,
    before = null,
    beforeSample = null,
    p = null,
  } = statistic;
  const { change } = statistic;
  const facts: [string, string][] = [[label, format.value(value, unit)]];
  if (lower !== null && upper !== null) facts.push(['95 % interval', format.interval(lower, upper, unit)]);
  if (n !== null) facts.push(['Sample (n)', format.value(n, 'count')]);
  if (before !== null) {
    const sample = beforeSample === null ? '' : `, n ${format.value(beforeSample, 'count')}`;
    facts.push([earlierOf(scope), `${format.value(before, unit)}${sample}`]);
  }
  if (change === undefined || change.change === null)
    return notCompared == null ? facts : [...facts, ['Comparison', notCompared]];
  const bounds =
    change.lower === null || change.upper === null
      ? ''
      : ` (${format.difference(change.lower, unit)} to ${format.difference(change.upper, unit)})`;
  facts.push(['Change', `${format.change(change.change, unit)}${bounds}`]);
  if (change.isSignificant !== null)
    facts.push([
      'Test',
      `${p === null ? '' : `p ${format.p(p)}, `}${change.isSignificant ? 'beyond' : 'within'} chance`,
    ]);
  return facts;
}

function earlierOf({ filters, range }: Scope): string {
  if (filters.compareTo === 'year') return 'A year earlier';
  return range === null ? 'Before' : `${daysBetween(range.from, range.to)} days before`;
}

/** A value with its statistics. */
export function StatisticValue(props: Omit<ExplainedProps, 'children'>): JSX.Element {
  const { format } = useScope();
  return <Explained {...props}>{format.value(props.statistic.value, props.unit)}</Explained>;
}
