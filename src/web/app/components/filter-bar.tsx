import type { ComponentChildren, JSX } from 'preact';
import { useId } from 'preact/hooks';
import { isDay } from '../state/calendar-days.ts';
import { type Comparison, type Filters, RANGE_DEFAULT, RANGES, type Range } from '../state/filters.ts';
import { type Option, type Scope, useScope } from '../state/scope.tsx';
import { BrandPicker } from './brand-picker.tsx';
import { EntityDot } from './parts.tsx';

const RANGE_LABELS: Readonly<Record<Range, string>> = {
  '7d': '7 days',
  '28d': '28 days',
  '90d': '90 days',
  '365d': '365 days',
  all: 'Everything',
};

const COMPARISON_LABELS: Readonly<Record<Comparison, string>> = {
  previous: 'Previous period',
  year: 'A year earlier',
  none: 'No comparison',
};

/** Filters of a page that are not shown by it. */
export type FilterName = 'range' | 'comparison' | 'engine' | 'topic' | 'tag' | 'branded';

interface FilterBarProps {
  readonly without?: readonly FilterName[];
  /** Fields of the page's own filters, after the others. */
  readonly children?: ComponentChildren;
}

/** The filters of a page. Each is part of the address, so that a view can be shared. */
export function FilterBar({ without = [], children }: FilterBarProps): JSX.Element {
  const scope = useScope();
  const { filters, setFilters } = scope;
  const has = (name: FilterName): boolean => !without.includes(name);
  const isFiltered =
    filters.engine.length > 0 || filters.topic !== null || filters.tag !== null || filters.branded !== null;
  return (
    <form class="filters" role="search" aria-label="Filters" onSubmit={(event) => event.preventDefault()}>
      <BrandPicker />
      {has('range') && <RangeFields scope={scope} />}
      {has('comparison') && (
        <Choice
          label="Compare with"
          value={filters.compareTo}
          options={Object.entries(COMPARISON_LABELS).map(([id, label]) => ({ id, label }))}
          onChoose={(compareTo) => setFilters({ compareTo: (compareTo ?? 'previous') as Comparison })}
        />
      )}
      {has('engine') && scope.engines.length > 1 && <EngineField scope={scope} />}
      {has('topic') && scope.topics.length > 0 && (
        <Choice
          label="Topic"
          all="All topics"
          value={filters.topic}
          options={scope.topics}
          onChoose={(topic) => setFilters({ topic })}
        />
      )}
      {has('tag') && scope.tags.length > 0 && (
        <Choice
          label="Tag"
          all="All tags"
          value={filters.tag}
          options={scope.tags}
          onChoose={(tag) => setFilters({ tag })}
        />
      )}
      {has('branded') && (
        <Choice
          label="Prompts"
          all="All prompts"
          value={filters.branded}
          options={[
            { id: 'branded', label: 'Branded' },
            { id: 'non-branded', label: 'Non-branded' },
          ]}
          onChoose={(branded) => setFilters({ branded: branded as Filters['branded'] })}
        />
      )}
      {children}
      {isFiltered && (
        <button
          type="button"
          class="reset"
          onClick={() => setFilters({ engine: [], topic: null, tag: null, branded: null })}
        >
          Clear filters
        </button>
      )}
    </form>
  );
}

interface ChoiceProps {
  readonly label: string;
  /** Label of the choice that does not filter; without it one of the options is always chosen. */
  readonly all?: string;
  readonly value: string | null;
  readonly options: readonly Option[];
  readonly onChoose: (id: string | null) => void;
}

/** A field with one choice. */
export function Choice({ label, all, value, options, onChoose }: ChoiceProps): JSX.Element {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} value={value ?? ''} onChange={(event) => onChoose(event.currentTarget.value || null)}>
        {all !== undefined && <option value="">{all}</option>}
        {options.map((option) => (
          <option key={option.id} value={option.id}>
            {option.label}
          </option>
        ))}
      </select>
    </div>
  );
}

function RangeFields({ scope }: { readonly scope: Scope }): JSX.Element {
  const { filters, range, setFilters } = scope;
  const id = useId();
  const setDay = (name: 'from' | 'to', day: string): void => {
    const next = { from: range?.from ?? day, to: range?.to ?? day, [name]: day };
    if (isDay(day) && next.from <= next.to) setFilters({ range: null, ...next });
  };
  return (
    <>
      <Choice
        label="Range"
        value={filters.range ?? 'custom'}
        options={[
          ...Object.keys(RANGES).map((each) => ({ id: each, label: RANGE_LABELS[each as Range] })),
          { id: 'custom', label: 'Custom days' },
        ]}
        onChoose={(chosen) => {
          if (chosen === 'custom') setFilters({ range: null, from: range?.from ?? null, to: range?.to ?? null });
          else setFilters({ range: (chosen ?? RANGE_DEFAULT) as Range });
        }}
      />
      {filters.range === null && (
        <>
          <div class="field">
            <label for={`${id}-from`}>From</label>
            <input
              id={`${id}-from`}
              type="date"
              value={range?.from ?? ''}
              max={range?.to}
              onChange={(event) => setDay('from', event.currentTarget.value)}
            />
          </div>
          <div class="field">
            <label for={`${id}-to`}>To</label>
            <input
              id={`${id}-to`}
              type="date"
              value={range?.to ?? ''}
              min={range?.from}
              onChange={(event) => setDay('to', event.currentTarget.value)}
            />
          </div>
        </>
      )}
    </>
  );
}

function EngineField({ scope }: { readonly scope: Scope }): JSX.Element {
  const { engines, filters, setFilters } = scope;
  const chosen = filters.engine;
  const label =
    chosen.length === 0
      ? 'All engines'
      : chosen.length === 1
        ? scope.engineLabel(chosen[0] ?? '')
        : `${chosen.length} engines`;
  return (
    <div class="field">
      <span class="label">Engines</span>
      <details class="menu">
        <summary dir="auto">{label}</summary>
        <fieldset>
          <legend class="hidden-text">Engines</legend>
          {engines.map((engine) => (
            <label key={engine.id}>
              <input
                type="checkbox"
                checked={chosen.includes(engine.id)}
                onChange={(event) => {
                  const rest = chosen.filter((id) => id !== engine.id);
                  setFilters({ engine: event.currentTarget.checked ? [...rest, engine.id].sort() : rest });
                }}
              />
              <EntityDot colour={scope.engineColour(engine.id)} />
              <span dir="auto">{engine.label}</span>
            </label>
          ))}
        </fieldset>
      </details>
    </div>
  );
}
