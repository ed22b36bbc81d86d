import type { Choices as WorldChoices } from '../../schemas/fixtures/choices.ts';
import { shiftDay } from '../../src/sandbox/days.ts';
import type { Forms } from './choices.ts';

type Scale = Forms['visibilityScale'];
type Decimals = Forms['visibilityDecimals'];
type Rounding = Forms['rounding'];

export type Row = Readonly<Record<string, unknown>>;

/** A request, and the response of the sandbox with unrounded percentages. */
export interface Written {
  /** Path of the endpoint without the brand, such as `metrics/daily`. */
  readonly endpoint: string;
  readonly query: URLSearchParams;
  readonly today: string;
  readonly body: unknown;
}

/** Writes a body in the forms of an upstream. */
export function writeBody({ endpoint, query, today, body }: Written, world: WorldChoices, forms: Forms): unknown {
  if (Array.isArray(body)) return inListOrder(endpoint, body, forms);
  if (!isRow(body)) return body;
  const rows = Array.isArray(body['data']) ? inListOrder(endpoint, body['data'], forms) : undefined;
  const data = rows?.map((row) => (isRow(row) ? writeRow(row, endpoint, query.get('groupBy'), world, forms) : row));
  const written: Row = { ...body, ...(data === undefined ? {} : { data }) };
  if (endpoint === 'traffic') return writeTotals(written, world, forms);
  if (data === undefined) return written;
  if (endpoint.startsWith('sources/') && forms.sourcesEcho === 'range') {
    const to = query.get('to') ?? today;
    return { from: query.get('from') ?? shiftDay(to, -29), to, ...written };
  }
  if (forms.envelope === 'extra' && !/^(metrics|sources)/.test(endpoint)) return { object: 'list', ...written };
  const isShort = ['engines', 'brands', 'competitors'].includes(endpoint);
  return forms.envelope === 'named' && isShort ? { [endpoint]: data } : written;
}

/** The items of a list that has items with equal times, because those of alerts and threads are midnights. */
export function withEqualTimes(endpoint: string, items: readonly unknown[], { timestamps }: WorldChoices): unknown[] {
  if (endpoint !== 'alerts' && endpoint !== 'forum/opportunities') return [...items];
  const midnight = timestamps === 'milliseconds' ? 'T00:00:00.000' : 'T00:00:00';
  const write = (value: unknown) => (typeof value === 'string' ? value.replace(/T[\d:.]+/, midnight) : value);
  return items.map((item) =>
    Object.fromEntries(
      Object.entries(item as Row).map(([name, value]) => [name, name.endsWith('At') ? write(value) : value]),
    ),
  );
}

/** The items of a list in the order in which the upstream lists them. */
export function inListOrder(endpoint: string, items: readonly unknown[], forms: Forms): unknown[] {
  const by = (...keys: string[]) => items.toSorted((a, b) => compareBy(a, b, keys));
  switch (endpoint) {
    case 'responses':
      return by('-createdAt', ...(forms.responseTies === 'prompt' ? ['prompt', 'id'] : [forms.responseTies]));
    case 'alerts':
      return by('-detectedAt', forms.alertTies);
    case 'forum/opportunities':
      return by(`-${forms.forumNewest}`, forms.forumTies);
    case 'engines':
      return forms.engineListOrder === 'list' ? [...items] : by('slug');
    case 'prompts':
      return forms.promptListOrder === 'text'
        ? by('text')
        : forms.promptListOrder === 'created'
          ? [...items]
          : items.toReversed();
    case 'action-plans':
      return forms.planOrder === 'lost' ? [...items] : by('prompt');
    default:
      return [...items];
  }
}

function compareBy(a: unknown, b: unknown, keys: readonly string[]): number {
  for (const key of keys) {
    const name = key.replace(/^-/, '');
    const [left, right] = [a, b].map((item) => {
      const text = isRow(item) ? String(item[name] ?? '') : String(item);
      return name.endsWith('At') ? Date.parse(text) || 0 : text;
    }) as [string, string];
    if (left !== right) return left < right === (key === name) ? -1 : 1;
  }
  return 0;
}

function writeRow(given: Row, endpoint: string, groupBy: string | null, world: WorldChoices, forms: Forms): Row {
  if (!/^(metrics|sources)/.test(endpoint)) return given;
  // Undeclared fields of computed rows cannot be served.
  const { zz_added: _, zz_flag: _flag, ...row } = given;
  if (endpoint === 'sources/domains') return { ...row, ...numbersOf(row, world, forms) };
  const entityType = row['entityType'] === 'competitor' ? { entityType: forms.competitorEntity } : {};
  return { ...row, ...numbersOf(row, world, forms), ...entityType, ...groupOf(row, groupBy, forms) };
}

function groupOf(row: Row, groupBy: string | null, forms: Forms): Row {
  if (!('prompts' in row) && !('groupId' in row)) return {};
  const { groupId, name } = row;
  if (groupId === null || groupId === undefined) {
    return forms.ungroupedName === 'none' ? { groupId: 'none', name: 'None' } : {};
  }
  if (groupBy === 'funnelStage' && forms.stageNames === 'titles') return { name: capitalize(String(name)) };
  if (groupBy !== 'branded' || forms.brandedGroups === 'slugs') return {};
  const value = String(groupId === 'branded');
  return forms.brandedGroups === 'booleans' ? { groupId: value, name: value } : { name: capitalize(String(name)) };
}

function numbersOf(row: Row, world: WorldChoices, forms: Forms): Row {
  const { rounding } = forms;
  const visibility = shareForm(forms.visibilityScale, forms.visibilityDecimals);
  const isSmall = Math.max(...Object.values(world.sentiment).map(Number)) < 10;
  const decimals = forms.sentimentDecimals;
  const written: Readonly<Record<string, NumberForm>> = {
    visibility,
    visibilityChange: visibility,
    shareOfVoice: shareForm(forms.shareOfVoiceScale, forms.shareOfVoiceDecimals),
    avgPosition: { divisor: 1, decimals: forms.positionDecimals },
    sentiment: { divisor: 1, decimals: decimals !== 'all' && isSmall ? decimals + 2 : decimals },
    share: shareForm(forms.domainShareScale, forms.domainShareDecimals),
  };
  return Object.fromEntries(
    Object.entries(written).flatMap(([name, form]) =>
      typeof row[name] === 'number' ? [[name, writeNumber(row[name], form, rounding)]] : [],
    ),
  );
}

function writeTotals(body: Row, world: WorldChoices, forms: Forms): Row {
  const totals = body['totals'] as Row;
  if (body['connected'] === false && forms.disconnected === 'nulls') {
    const nothing = world.missing === 'absent' ? [] : Object.keys(totals).map((name) => [name, null]);
    return { ...body, property: '', currency: '', totals: Object.fromEntries(nothing) };
  }
  const { shareOfSite } = totals;
  if (typeof shareOfSite !== 'number') return body;
  const form = shareForm(forms.siteShareScale, forms.siteShareDecimals);
  return { ...body, totals: { ...totals, shareOfSite: writeNumber(shareOfSite, form, forms.rounding) } };
}

interface NumberForm {
  readonly divisor: number;
  readonly decimals: number | 'all';
}

function shareForm(scale: Scale, decimals: Decimals): NumberForm {
  if (scale === 'percent') return { divisor: 1, decimals };
  return { divisor: 100, decimals: decimals === 'all' ? 'all' : decimals + 2 };
}

// Quotients and differences, such as 33.3 - 12.2, have noise in their last binary digits.
function writeNumber(exact: number, { divisor, decimals }: NumberForm, mode: Rounding): number {
  const value = Number((exact / divisor).toFixed(12));
  if (decimals === 'all') return value;
  if (mode === 'to-fixed') return Number(value.toFixed(decimals));
  const scaled = value * 10 ** decimals;
  return toWhole(scaled, mode) / 10 ** decimals;
}

function toWhole(scaled: number, mode: Exclude<Rounding, 'to-fixed'>): number {
  if (mode === 'truncate') return Math.trunc(scaled);
  if (mode === 'math-round') return Math.round(scaled);
  const isHalf = Math.abs(scaled - Math.trunc(scaled)) === 0.5;
  if (mode === 'half-even' && isHalf) return 2 * Math.round(scaled / 2);
  return Math.sign(scaled) * Math.round(Math.abs(scaled));
}

function capitalize(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

function isRow(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
