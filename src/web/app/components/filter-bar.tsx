import type { ComponentChildren, JSX } from 'preact';
import { useId } from 'preact/hooks';
import { isDay } from '../state/calendar-days.ts';
import type { Comparison, Range } from '../state/filters.ts';
import { useRoute } from '../state/router.tsx';
import { type Option, type Scope, useScope } from '../state/scope.tsx';
import { useCopy } from '../state/use-copy.ts';
import { Icon } from './icon.tsx';
import { EntityDot } from './parts.tsx';
import { Popup } from './popup.tsx';

/** The ranges that are one click away, and those in the panel beside them. */
const SEGMENTS: readonly (readonly [Range, string])[] = [
  ['7d', '7 d'],
  ['28d', '28 d'],
  ['90d', '90 d'],
];
const LONG_RANGES: readonly (readonly [Range, string])[] = [
  ['365d', '365 days'],
  ['all', 'Everything'],
];

const COMPARISON_LABELS: Readonly<Record<Comparison, string>> = {
  previous: 'Previous period',
  year: 'A year earlier',
  none: 'No comparison',
};

/** Filters of a page that are not shown by it. */
export type FilterName = 'range' | 'comparison' | 'engine' | 'topic' | 'tag' | 'branded';

export interface FilterBarProps {
  readonly without?: readonly FilterName[];
  /** Fields of the page's own filters, after the others, and the number of those that are set. */
  readonly children?: ComponentChildren;
  readonly own?: number;
}

/** The range, the filters and the link of a page. All are part of the address, so that a view can be shared. */
export function FilterBar({ without = [], children, own = 0 }: FilterBarProps): JSX.Element {
  const scope = useScope();
  const { filters } = scope;
  const has = (name: FilterName): boolean => !without.includes(name);
  const set = [
    has('comparison') && filters.compareTo !== 'previous',
    has('engine') && filters.engine.length > 0,
    has('topic') && filters.topic !== null,
    has('tag') && filters.tag !== null,
    has('branded') && filters.branded !== null,
  ];
  const count = set.filter(Boolean).length + own;
  const isFiltering =
    children !== undefined || ['comparison', 'engine', 'branded'].some((name) => has(name as FilterName));
  return (
    <form class="page-tools" role="search" aria-label="Filters" onSubmit={(event) => event.preventDefault()}>
      {has('range') && <RangeChoice scope={scope} />}
      {isFiltering && (
        <Popup
          label="Filters"
          button={
            <>
              <Icon name="filters" />
              Filters <em>{count === 0 ? 'none' : count}</em>
            </>
          }
        >
          <FilterFields scope={scope} has={has}>
            {children}
          </FilterFields>
        </Popup>
      )}
      <ShareButton />
    </form>
  );
}

const BRANDED: readonly Option[] = [
  { id: 'branded', label: 'Branded' },
  { id: 'non-branded', label: 'Non-branded' },
];

interface FilterFieldsProps {
  readonly scope: Scope;
  readonly has: (name: FilterName) => boolean;
  readonly children: ComponentChildren;
}

function FilterFields({ scope, has, children }: FilterFieldsProps): JSX.Element {
  const { filters, setFilters } = scope;
  const choices = [
    ['topic', 'Topic', 'All topics', scope.topics],
    ['tag', 'Tag', 'All tags', scope.tags],
    ['branded', 'Prompts', 'All prompts', BRANDED],
  ] as const;
  const isFiltered =
    filters.engine.length > 0 || filters.topic !== null || filters.tag !== null || filters.branded !== null;
  return (
    <div class="fields">
      {has('comparison') && (
        <Choice
          label="Compare with"
          value={filters.compareTo}
          options={Object.entries(COMPARISON_LABELS).map(([id, label]) => ({ id, label }))}
          onChoose={(compareTo) => setFilters({ compareTo: (compareTo ?? 'previous') as Comparison })}
        />
      )}
      {has('engine') && scope.engines.length > 1 && <EngineField scope={scope} />}
      {choices.map(
        ([name, label, all, options]) =>
          has(name) &&
          options.length > 0 && (
            <Choice
              key={name}
              label={label}
              all={all}
              value={filters[name]}
              options={options}
              onChoose={(id) => setFilters({ [name]: id })}
            />
          ),
      )}
      {children}
      {isFiltered && (
        <p>
          <button type="button" onClick={() => setFilters({ engine: [], topic: null, tag: null, branded: null })}>
            Clear filters
          </button>
        </p>
      )}
    </div>
  );
}

/** Copies the address of the view, with the brand that it shows. */
function ShareButton(): JSX.Element {
  const { brand } = useScope();
  const route = useRoute();
  const [status, copy] = useCopy();
  const share = (): void => {
    const search = new URLSearchParams(route.search);
    if (brand !== null) search.set('brand', brand.id);
    copy(`${window.location.origin}${route.base}${route.path}?${search}`);
  };
  return (
    <>
      <button type="button" class="share" onClick={share}>
        <Icon name="share" />
        {status === '' ? 'Share' : status}
      </button>
      <span class="hidden-text" role="status">
        {status}
      </span>
    </>
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

interface DayFieldProps {
  readonly label: string;
  readonly value: string;
  readonly onChoose: (day: string) => void;
}

/** A field with a day. */
export function DayField({ label, value, onChoose }: DayFieldProps): JSX.Element {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input id={id} type="date" value={value} onChange={(event) => onChoose(event.currentTarget.value)} />
    </div>
  );
}

function RangeChoice({ scope }: { readonly scope: Scope }): JSX.Element {
  const { filters, range, setFilters } = scope;
  const choose = (chosen: Range): void => setFilters({ range: chosen });
  const setDay = (name: 'from' | 'to', day: string): void => {
    const next = { from: range?.from ?? day, to: range?.to ?? day, [name]: day };
    if (isDay(day) && next.from <= next.to) setFilters({ range: null, ...next });
  };
  const isOther = SEGMENTS.every(([each]) => each !== filters.range);
  return (
    <div class="segments" role="group" aria-label="Range">
      {SEGMENTS.map(([each, label]) => (
        <button key={each} type="button" aria-pressed={filters.range === each} onClick={() => choose(each)}>
          {label}
        </button>
      ))}
      <Popup
        label="Custom"
        isPressed={isOther}
        button={LONG_RANGES.find(([each]) => each === filters.range)?.[1] ?? 'Custom'}
      >
        <div class="fields">
          <div class="row">
            {LONG_RANGES.map(([each, label]) => (
              <button key={each} type="button" aria-pressed={filters.range === each} onClick={() => choose(each)}>
                {label}
              </button>
            ))}
          </div>
          {(['from', 'to'] as const).map((name) => (
            <DayField
              key={name}
              label={name === 'from' ? 'From' : 'To'}
              value={range?.[name] ?? ''}
              onChoose={(day) => setDay(name, day)}
            />
          ))}
        </div>
      </Popup>
    </div>
  );
}

function EngineField({ scope }: { readonly scope: Scope }): JSX.Element {
  const { engines, filters, setFilters } = scope;
  const chosen = filters.engine;
  return (
    <fieldset class="field">
      <legend>Engines</legend>
      {engines.map((engine) => (
        <label key={engine.id} class="check">
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
  );
}
