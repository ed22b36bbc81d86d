import type { ComponentChildren, JSX } from 'preact';
import type { Filters } from '../state/filters.ts';
import { NO_VALUE, type Unit } from '../state/format.ts';
import { Link } from '../state/router.tsx';
import type { Scope } from '../state/scope.tsx';
import { type MeasurementColumns, type Statistic, statisticOf } from '../state/series.ts';
import { MEASURES } from '../state/shown-measures.ts';
import { numberOf, type Row, type TableColumn, textOf, type Value } from '../state/table.ts';
import { OuterLink } from './markdown.tsx';
import { Explained, Mark } from './measured.tsx';
import { OwnerMark } from './owner-mark.tsx';
import { EntityDot, Tag, Timestamp } from './parts.tsx';

/** A value that is sorted, searched and counted. */
export type Sortable = string | number | boolean | null;

/** A column of the data, and what its name and type do not say about how it is shown. */
export interface ColumnSpec extends MeasurementColumns {
  readonly name: string;
  /** The default is the name in words. */
  readonly label?: string;
  /** Definition, shown on hover; the default is the description of the column of the query. */
  readonly about?: string | undefined;
  readonly unit?: Unit;
  readonly value?: (row: Row, scope: Scope) => Sortable;
  /** Path within the workspace that the cell links to. */
  readonly to?: (row: Row, scope: Scope) => string | null;
  /** Address of another site that the cell links to. */
  readonly url?: (row: Row) => string;
  /** Colours a value of a matrix: how much, and whether it leads. */
  readonly heat?: (row: Row) => { readonly isLead: boolean; readonly depth: number };
  /** Index of the series colour of a dot before the text. */
  readonly dot?: (row: Row, scope: Scope) => number | null;
  /** Second line of the cell. */
  readonly below?: (row: Row, scope: Scope) => ComponentChildren;
  readonly cell?: (row: Row, scope: Scope) => ComponentChildren;
  /** Whether phones show the column beside the name. By default they show the first number. */
  readonly isKey?: boolean;
  /** Shows a text as a tag. */
  readonly isTag?: boolean;
  /** Whether a rise is good; null if it is neither good nor bad. */
  readonly isGood?: (row: Row) => boolean | null;
}

/** A column by its name, or with what the name does not say. */
export type GivenColumn = string | ColumnSpec;

/** A column as a table draws it. */
export interface Column {
  readonly id: string;
  readonly label: string;
  readonly about: string | undefined;
  readonly isNumber: boolean;
  /** The order that a reader wants first: the greatest number, the newest time, the first text. */
  readonly order: string;
  readonly isKey: boolean;
  readonly hasBelow: boolean;
  readonly valueOf: (row: Row) => Sortable;
  readonly cellOf: (row: Row) => ComponentChildren;
  /** Whether the change of a row is beyond chance; null if it is not tested. */
  readonly verdictOf: ((row: Row) => boolean | null) | null;
}

/** Filters that belong to a view of another page than the one a cell links to. */
const ELSEWHERE: Partial<Filters> = { prompt: null, competitor: null };
const CHANGE = /_change$/;

const entity = (name: string): Partial<ColumnSpec> => ({
  dot: ({ competitor_id: id }, { entityColour }) => (id === undefined ? null : entityColour(textOf(id) || null)),
  to: ({ competitor_id: id }, { linkTo }) =>
    id === undefined ? null : linkTo('/competitors', { competitor: textOf(id) || null }),
  value: (row) => textOf(row[name]) || null,
});

/** How columns are shown that many tables have. */
const KNOWN: Readonly<Record<string, Partial<ColumnSpec>>> = {
  ...Object.fromEntries(MEASURES.map(({ name, title, about, unit }) => [name, { label: title, about, unit }])),
  prompt: {
    value: ({ prompt, prompt_id: id }) => textOf(prompt) || (textOf(id) && 'Prompt without text') || null,
    to: ({ prompt_id: id }, { linkTo }) => (textOf(id) === '' ? null : linkTo(`/prompts/${textOf(id)}`, ELSEWHERE)),
  },
  domain: { to: ({ domain }, { linkTo }) => linkTo('/sources', ELSEWHERE, { domain: textOf(domain) }) },
  owner: {
    value: (row) => shownOwner(row) || null,
    cell: (row) => <OwnerMark domain={textOf(row['domain'])} owner={shownOwner(row)} />,
  },
  engine: {
    value: ({ engine }, { engineLabel }) => engineLabel(textOf(engine)) || 'unknown',
    dot: ({ engine }, { engineColour }) => (engine === null ? null : engineColour(textOf(engine))),
  },
  citation_share: {
    label: 'Share',
    about: 'Citations of the domain as a share of all citations that name a domain.',
    unit: 'ratio',
  },
  entity: { label: 'Brand', ...entity('entity') },
  competitor: entity('competitor'),
  p_adjusted: { label: 'p', unit: 'number', cell: ({ p_adjusted: p }, { format }) => format.p(numberOf(p)) },
  state: { isTag: true },
};

function shownOwner({ is_own: isOwn, owner }: Row): string {
  return isOwn === true ? 'this competitor' : knownOwner(textOf(owner));
}

/** Returns the kind of an owner; empty if it is not known. */
export function knownOwner(owner: string): string {
  return owner === 'unknown' ? '' : owner;
}

export interface ColumnParts {
  readonly rows: readonly Row[];
  /** Names of the values that a row has. */
  readonly known: ReadonlySet<string>;
  /** The columns of the query. */
  readonly described: readonly TableColumn[];
  /** Names of the other shown columns. */
  readonly shown: readonly string[];
  readonly nameOf: (row: Row) => string;
  /** Name of the column with drawn intervals; null if no intervals are drawn. */
  readonly ranged: string | null;
  /** Why the rows are not compared; undefined or null if they are. */
  readonly notCompared?: string | null;
}

/** Returns how a table draws a column. */
export function columnOf(given: GivenColumn, parts: ColumnParts, scope: Scope): Column {
  const own = typeof given === 'string' ? { name: given } : given;
  const base = own.name.replace(CHANGE, '');
  const isChange = base !== own.name && own.cell === undefined;
  const spec: ColumnSpec = { ...(isChange ? changeParts(base) : KNOWN[own.name]), ...own };
  const { name, bounds = base } = spec;
  const described = parts.described.find((column) => column.name === name);
  const isStatistic = isChange || spec.n !== undefined || parts.known.has(`${bounds}_lower`);
  const unit = spec.unit ?? (isStatistic ? 'ratio' : unitOf(described?.type ?? ''));
  const valueOf = (row: Row): Sortable => (spec.value === undefined ? plain(row[name]) : spec.value(row, scope));
  const label = spec.label ?? inWords(name);
  const about = spec.about ?? described?.about;
  const statistic = (row: Row): Statistic => statisticOf(row, base, spec);
  const common = { spec, label, about, unit, scope };
  const most = name === parts.ranged ? Math.max(...parts.rows.map((row) => statistic(row).upper ?? 0)) : 0;
  return {
    id: name,
    label,
    about,
    isNumber: !['text', 'day', 'time'].includes(unit),
    order: unit === 'text' ? name : `-${name}`,
    isKey: spec.isKey === true,
    hasBelow: spec.below !== undefined,
    valueOf,
    cellOf: (row) => {
      if (spec.cell !== undefined) return spec.cell(row, scope);
      const title = parts.nameOf(row);
      if (isChange) return <ChangeCell {...common} row={row} title={title} statistic={statistic(row)} />;
      const hasSign = !parts.shown.includes(`${name}_change`);
      if (isStatistic) {
        const all = { ...common, row, title, statistic: statistic(row), notCompared: parts.notCompared ?? null };
        return <StatisticCell {...all} hasSign={hasSign} most={most} />;
      }
      return <PlainCell {...common} row={row} value={valueOf(row)} />;
    },
    verdictOf: isChange ? (row) => statistic(row).change.isSignificant : null,
  };
}

function changeParts(base: string): Partial<ColumnSpec> {
  const { label, about, unit } = KNOWN[base] ?? {};
  return {
    label: `Δ ${label ?? inWords(base)}`,
    about: about === undefined ? undefined : `Change against the comparison range. ${about}`,
    ...(unit === undefined ? {} : { unit }),
  };
}

function inWords(name: string): string {
  const words = name.replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function unitOf(type: string): Unit {
  if (/INT/.test(type)) return 'count';
  if (/^(DOUBLE|FLOAT|DECIMAL)/.test(type)) return 'number';
  if (type === 'DATE') return 'day';
  return type.startsWith('TIMESTAMP') ? 'time' : 'text';
}

function plain(value: Value | undefined): Sortable {
  if (value === undefined || value === null || value === '') return null;
  return typeof value === 'object' ? textOf(value) : value;
}

interface CellProps {
  readonly spec: ColumnSpec;
  readonly label: string;
  readonly about: string | undefined;
  readonly unit: Unit;
  readonly scope: Scope;
  readonly row: Row;
}

interface StatisticCellProps extends CellProps {
  readonly title: string;
  readonly statistic: Statistic;
}

interface ValueCellProps extends StatisticCellProps {
  /** Whether it shows the sign of a change beyond chance. */
  readonly hasSign: boolean;
  /** The end of the scale of the drawn interval; 0 for none. */
  readonly most: number;
  readonly notCompared: string | null;
}

function StatisticCell(props: ValueCellProps): JSX.Element {
  const { spec, row, scope, hasSign, most, ...explained } = props;
  const { unit, statistic } = explained;
  const heat = statistic.value === null ? undefined : spec.heat?.(row);
  return (
    <span class={heat && 'heat-cell'} style={heat && { background: heatOf(heat) }}>
      {most > 0 && <Interval {...statistic} most={most} />}
      <Explained {...explained}>
        {scope.format.value(statistic.value, unit)}
        {hasSign && statistic.change.isSignificant === true && (
          <Mark change={statistic.change} unit={unit} isHigherBetter={isGood(props)} isSignOnly />
        )}
      </Explained>
    </span>
  );
}

function heatOf({ isLead, depth }: { readonly isLead: boolean; readonly depth: number }): string {
  return `color-mix(in oklab, var(${isLead ? '--good' : '--series-0'}) ${Math.round(6 + depth * 26)}%, var(--surface))`;
}

// A dot on the range of its interval.
function Interval({ value, lower, upper, most }: Statistic & { readonly most: number }): JSX.Element {
  const at = (share: number): string => `${(100 * share) / most}%`;
  return (
    <span class="interval" aria-hidden="true">
      {lower !== null && upper !== null && <i style={{ left: at(lower), width: at(upper - lower) }} />}
      {value !== null && <b style={{ left: at(value) }} />}
    </span>
  );
}

function ChangeCell(props: StatisticCellProps): JSX.Element | string {
  const { label, about, unit, title, statistic } = props;
  if (statistic.change.change === null) return NO_VALUE;
  return (
    <Explained title={title} label={label.replace('Δ ', '')} about={about} statistic={statistic} unit={unit}>
      <Mark change={statistic.change} unit={unit} isHigherBetter={isGood(props)} />
    </Explained>
  );
}

// A rise of a competitor is neither good nor bad by itself.
function isGood({ spec, row }: CellProps): boolean | null {
  if (spec.isGood !== undefined) return spec.isGood(row);
  if ((row['competitor_id'] ?? null) !== null) return null;
  const base = spec.name.replace(CHANGE, '');
  return MEASURES.find(({ name }) => name === base)?.isHigherBetter ?? true;
}

function PlainCell({ spec, unit, scope, row, value }: CellProps & { readonly value: Sortable }): JSX.Element {
  const { format } = scope;
  const to = value === null ? null : (spec.to?.(row, scope) ?? null);
  const dot = spec.dot?.(row, scope) ?? null;
  const below = spec.below?.(row, scope);
  const text = typeof value === 'boolean' ? (value ? 'yes' : 'no') : format.value(value, unit);
  const isText = unit === 'text' && value !== null;
  const shown = unit === 'time' ? <Timestamp time={textOf(value) || null} /> : text;
  if (spec.isTag === true && isText) return <Tag text={text} />;
  return (
    <>
      <span class={isText ? 'named' : 'unbroken'}>
        {dot !== null && <EntityDot colour={dot} />}
        {spec.url === undefined ? (
          <Linked to={to} {...(isText ? { title: text } : {})}>
            {shown}
          </Linked>
        ) : (
          <OuterLink url={spec.url(row)}>
            <span class="clamped" title={text}>
              {shown}
            </span>
          </OuterLink>
        )}
      </span>
      {below !== undefined && below !== null && (
        <span class="beside" dir="auto">
          {typeof below === 'string' ? <span class="clamped">{below}</span> : below}
        </span>
      )}
    </>
  );
}

interface LinkedProps {
  readonly to: string | null;
  /** The whole text, if it may be cut after two lines. */
  readonly title?: string;
  readonly children: ComponentChildren;
}

function Linked({ to, title, children }: LinkedProps): JSX.Element {
  const look = title === undefined ? {} : ({ class: 'clamped', dir: 'auto', title } as const);
  if (to === null) return <span {...look}>{children}</span>;
  return (
    <Link to={to} {...look}>
      {children}
    </Link>
  );
}
