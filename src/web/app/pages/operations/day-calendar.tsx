import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { BrandCalendar } from '../../../../read/calendar.ts';
import type { ReplicaReport } from '../../../../read/replica-report.ts';
import { Choice } from '../../components/filter-bar.tsx';
import { grouped, plural } from '../../state/amounts.ts';

const MONTHS_SHOWN = 6;
const WEEKDAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'];

interface DayState {
  readonly state: keyof BrandCalendar['counts'];
  readonly sign: string;
  readonly text: string;
}

const STATES: Readonly<Record<string, DayState>> = {
  v: { state: 'verified', sign: '✓', text: 'verified: agrees with the API' },
  c: { state: 'complete', sign: '●', text: 'complete: read after its end' },
  p: { state: 'partial', sign: '◐', text: 'partial: read before its end' },
  d: { state: 'differs', sign: '≠', text: 'differs from the API' },
  m: { state: 'missing', sign: '×', text: 'missing: never read' },
};

const STEPS: Readonly<Record<string, number>> = {
  ArrowLeft: -1,
  ArrowRight: 1,
  ArrowUp: -7,
  ArrowDown: 7,
  PageUp: -28,
  PageDown: 28,
  Home: -Infinity,
  End: Infinity,
};

/** The state of each day of a brand, by month. */
export function DayCalendar({ replica }: { readonly replica: ReplicaReport }): JSX.Element {
  const { brands } = replica.status;
  const [brandId, setBrandId] = useState(brands[0]?.brandId ?? null);
  const [hasAll, setHasAll] = useState(false);
  const calendar = replica.calendars.find((one) => one.brandId === brandId) ?? replica.calendars[0];
  if (calendar === undefined) return <p class="quiet">No days yet.</p>;
  return (
    <>
      {brands.length > 1 && (
        <Choice
          label="Brand"
          value={calendar.brandId}
          options={brands.map(({ brandId: id, name }) => ({ id, label: name || id }))}
          onChoose={setBrandId}
        />
      )}
      <ul class="legend">
        {Object.values(STATES).map(({ state, sign, text }) => (
          <li key={state}>
            <span class={`day ${state}`} aria-hidden="true">
              {sign}
            </span>
            {text.split(':')[0]}, {grouped(calendar.counts[state])}
          </li>
        ))}
      </ul>
      {calendar.months.length === 0 ? (
        <p class="quiet">No days yet.</p>
      ) : (
        <Months months={hasAll ? calendar.months : calendar.months.slice(-MONTHS_SHOWN)} />
      )}
      {calendar.months.length > MONTHS_SHOWN && (
        <button type="button" aria-expanded={hasAll} onClick={() => setHasAll(!hasAll)}>
          {hasAll ? `Show ${MONTHS_SHOWN} months` : `Show all ${plural(calendar.months.length, 'month')}`}
        </button>
      )}
    </>
  );
}

// Only one day is in the tab order; arrow keys move between days.
function Months({ months }: { readonly months: BrandCalendar['months'] }): JSX.Element {
  const grid = useRef<HTMLDivElement>(null);
  const dates = months.flatMap((month) => daysOf(month).map(({ date }) => date));
  const [chosen, setChosen] = useState('');
  const [told, setTold] = useState('Point at a day, or move between days with the arrow keys.');
  const stop = dates.includes(chosen) ? chosen : (dates.at(-1) ?? '');
  const tell = (event: Event): void => {
    const cell = event.target instanceof Element ? event.target.closest('[data-date]') : null;
    if (cell !== null) setTold(cell.getAttribute('aria-label') ?? '');
  };
  const move = (event: KeyboardEvent): void => {
    const step = STEPS[event.key];
    const at = dates.indexOf(stop);
    if (step === undefined || at < 0) return;
    event.preventDefault();
    const next = dates[Math.max(0, Math.min(dates.length - 1, at + step))] ?? stop;
    setChosen(next);
    grid.current?.querySelector<HTMLElement>(`[data-date="${next}"]`)?.focus();
  };
  return (
    <>
      {/* oxlint-disable-next-line jsx-a11y/no-static-element-interactions -- the events are those of the days in it. */}
      <div class="months" ref={grid} onPointerMove={tell} onFocusIn={tell} onKeyDown={move}>
        {months.map((month) => (
          <Month key={month.month} month={month} stop={stop} />
        ))}
      </div>
      <p id="day-told" class="quiet">
        {told}
      </p>
    </>
  );
}

function Month({
  month,
  stop,
}: {
  readonly month: BrandCalendar['months'][number];
  readonly stop: string;
}): JSX.Element {
  const first = new Date(`${month.month}-01T00:00:00Z`);
  const name = first.toLocaleDateString(undefined, { month: 'long', year: 'numeric', timeZone: 'UTC' });
  const before = (first.getUTCDay() + 6) % 7;
  const length = new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + 1, 0)).getUTCDate();
  const known = new Map(daysOf(month).map((day) => [Number(day.date.slice(8)), day]));
  const weeks = Array.from({ length: Math.ceil((before + length) / 7) }, (_, week) => week * 7 + 1 - before);
  return (
    <table class="month">
      <caption>{name}</caption>
      <thead class="hidden-text">
        <tr>
          {WEEKDAYS.map((weekday) => (
            <th key={weekday} scope="col">
              {weekday}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {weeks.map((start) => (
          <tr key={start}>
            {WEEKDAYS.map((weekday, index) => {
              const day = known.get(start + index);
              if (day !== undefined) {
                return (
                  <td key={weekday}>
                    <DayCell {...day} isStop={day.date === stop} />
                  </td>
                );
              }
              const isInMonth = start + index >= 1 && start + index <= length;
              return <td key={weekday}>{isInMonth && <span class="day none" aria-hidden="true" />}</td>;
            })}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface Day {
  readonly date: string;
  readonly letter: string;
}

function DayCell({ date, letter, isStop }: Day & { readonly isStop: boolean }): JSX.Element {
  const { state, sign, text } = STATES[letter] ?? { state: 'none', sign: '', text: 'not known' };
  const words = new Date(`${date}T00:00:00Z`).toLocaleDateString(undefined, { dateStyle: 'full', timeZone: 'UTC' });
  return (
    <span
      class={`day ${state}`}
      role="img"
      data-date={date}
      tabIndex={isStop ? 0 : -1}
      aria-label={`${words}: ${text}`}
    >
      {sign}
    </span>
  );
}

function daysOf({ month, days }: BrandCalendar['months'][number]): Day[] {
  return [...days].flatMap((letter, index) =>
    letter === '.' ? [] : [{ date: `${month}-${String(index + 1).padStart(2, '0')}`, letter }],
  );
}
