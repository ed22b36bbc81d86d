import type { JSX } from 'preact';
import { Choice, DayField } from '../../components/filter-bar.tsx';
import { EntityDot } from '../../components/parts.tsx';
import { isDay } from '../../state/calendar-days.ts';
import { type AddressChanges, addressWith, useRoute } from '../../state/router.tsx';
import { useScope } from '../../state/scope.tsx';
import { type Kind, optionsOf, type Side } from './sides.ts';

export interface SidePickerProps {
  readonly kinds: readonly { readonly id: Kind; readonly label: string }[];
  readonly kind: Kind;
  readonly sides: readonly [Side, Side];
}

/** The choice of what is compared. It is part of the address. */
export function SidePicker({ kinds, kind, sides }: SidePickerProps): JSX.Element {
  const route = useRoute();
  const scope = useScope();
  const set = (changes: AddressChanges): void => route.navigate(addressWith(route, changes));
  const [a, b] = sides;
  const pick = (name: 'a' | 'b', side: Side): JSX.Element => {
    const label = name === 'a' ? 'First' : 'Second';
    if (kind === 'period') return <PeriodFields label={label} side={side} onChoose={(id) => set({ [name]: id })} />;
    return (
      <span class="side-choice">
        <EntityDot colour={side.colour} />
        <Choice
          label={label}
          value={side.id}
          options={optionsOf(scope, kind)}
          onChoose={(id) => set(name === 'a' ? { a: id, b: b.id } : { a: a.id, b: id })}
        />
      </span>
    );
  };
  return (
    <form class="sides" role="search" aria-label="Compared sides" onSubmit={(event) => event.preventDefault()}>
      <Choice
        label="Compare"
        value={kind}
        options={kinds}
        onChoose={(of) => set({ of: of === kinds[0]?.id ? null : of, a: null, b: null })}
      />
      {pick('a', a)}
      {pick('b', b)}
      <button type="button" onClick={() => set({ a: b.id, b: a.id })}>
        Swap
      </button>
    </form>
  );
}

interface PeriodFieldsProps {
  readonly label: string;
  readonly side: Side;
  readonly onChoose: (id: string) => void;
}

function PeriodFields({ label, side, onChoose }: PeriodFieldsProps): JSX.Element {
  const { from = '', to = '' } = side.days ?? {};
  const change = (next: { from: string; to: string }): void => {
    if (isDay(next.from) && isDay(next.to) && next.from <= next.to) onChoose(`${next.from}..${next.to}`);
  };
  return (
    <span class="side-choice">
      <EntityDot colour={side.colour} />
      <DayField label={`${label} from`} value={from} onChoose={(day) => change({ from: day, to })} />
      <DayField label={`${label} to`} value={to} onChoose={(day) => change({ from, to: day })} />
    </span>
  );
}
