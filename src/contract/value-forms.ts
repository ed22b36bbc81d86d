import { isRecord } from '../base/json.ts';
import type { ColumnKind } from './fields.ts';

/**
 * How upstream writes the values of a field, as text: `lower` or `upper` for ids; `YYYY-MM-DDTHH:MM:SS.fffZ` for times, with
 * `[.f*]` for a fraction without trailing zeros and `[.fff]` for one that is left out if it is 0; the suffix of days; `number`,
 * `text` or `text 2` (decimals) for numbers.
 */
export type ValueForm = string;

/** Writes a stored value as upstream does. Values are as in the warehouse: ids in lower case, times in UTC without `T` and `Z`. */
export type ValueWriter = (value: unknown) => unknown;

const MOMENT = /^\d{4}-\d{2}-\d{2}([T ])\d{2}:\d{2}:\d{2}(?:\.(\d{1,9}))?( ?(?:Z|[+-]00(?::?00)?)?)$/i;
const TIME_FORM = /^YYYY-MM-DD(.)HH:MM:SS(\[?)(?:\.(f+)(\*?))?\]?(.*)$/;
/** Ids in fields that may have other texts too, such as the ids of groups. */
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const NUMERAL = /^-?(?:0|[1-9]\d{0,17})(?:\.(\d{1,12}))?$/;

/** Form of times until one was seen. */
export const TIME_FORM_DEFAULT = 'YYYY-MM-DDTHH:MM:SS.fffZ';

/** Kinds of columns whose values the warehouse stores in another form than upstream's. */
export function hasForms(kind: ColumnKind): boolean {
  return kind === 'uuid' || kind === 'timestamp' || kind === 'day' || kind === 'number' || kind === 'integer';
}

/** Returns the forms that write a value as it was sent, most likely first; none if every form does, or none is known. */
export function proposeForms(kind: ColumnKind, sent: unknown): ValueForm[] {
  if (kind === 'json') return idsIn(sent).flatMap((id) => proposeForms('uuid', id));
  if (kind === 'number' || kind === 'integer') return numberForms(sent);
  if (typeof sent !== 'string') return [];
  switch (kind) {
    case 'uuid':
      if (sent.toLowerCase() === sent.toUpperCase()) return [];
      return sent === sent.toLowerCase() ? ['lower'] : sent === sent.toUpperCase() ? ['upper'] : [];
    case 'timestamp':
      return timeForms(sent);
    case 'day':
      return [sent.slice(10)];
    case 'text':
      return UUID.test(sent) ? proposeForms('uuid', sent) : [];
    default:
      return [];
  }
}

/** Returns the writer of a form; of the form that is used until one was seen, if `form` is null. */
export function createValueWriter(kind: ColumnKind, form: ValueForm | null): ValueWriter {
  switch (kind) {
    case 'uuid':
      return form === 'upper' ? ofText((value) => value.toUpperCase()) : (value) => value;
    case 'timestamp':
      return timeWriter(form ?? TIME_FORM_DEFAULT);
    case 'day':
      return form === null || form === '' ? (value) => value : ofText((value) => `${value.slice(0, 10)}${form}`);
    case 'number':
    case 'integer':
      return numberWriter(form);
    case 'text':
    case 'json':
      return form === 'upper' ? (value) => mapIds(value, (id) => id.toUpperCase()) : (value) => value;
    default:
      return (value) => value;
  }
}

// Values that were not checked yet can be objects without a text.
function ofText(write: (value: string) => unknown): ValueWriter {
  return (value) => (typeof value === 'string' ? write(value) : value);
}

/**
 * Returns a form that writes a value as it was sent and all earlier values as before; null if there is none. A fraction may appear
 * after whole seconds only, and another number of decimals shows that their number is not fixed.
 */
export function widenForm(kind: ColumnKind, form: ValueForm, sent: unknown): ValueForm | null {
  if (/^text \d+$/.test(form)) return numberForms(sent).includes('text') ? 'text' : null;
  if (kind !== 'timestamp' || typeof sent !== 'string') return null;
  const [seen, before] = [MOMENT.exec(sent), TIME_FORM.exec(form)];
  if (seen === null || before === null || before[3] !== undefined) return null;
  const [, separator, fraction = '', zone] = seen;
  if (separator !== before[1] || zone !== before[5] || fraction === '') return null;
  const width = fraction.length % 3 === 0 ? 'f'.repeat(fraction.length) : 'f*';
  return `YYYY-MM-DD${separator}HH:MM:SS[.${width}]${zone}`;
}

/** Returns the ids in a JSON value. */
export function idsIn(value: unknown): string[] {
  if (typeof value === 'string') return UUID.test(value) ? [value] : [];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(idsIn);
}

/** Returns a JSON value with other ids. */
export function mapIds(value: unknown, map: (id: string) => string): unknown {
  if (typeof value === 'string') return UUID.test(value) ? map(value) : value;
  if (Array.isArray(value)) return value.map((item) => mapIds(item, map));
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, mapIds(inner, map)]));
}

/** Returns the number that a numeral such as `"12.50"` is; null for any other text. */
export function toNumber(text: string): number | null {
  return NUMERAL.test(text) ? Number(text) : null;
}

function timeForms(sent: string): ValueForm[] {
  const match = MOMENT.exec(sent);
  if (match === null) return [];
  const [, separator, fraction = '', zone] = match;
  const form = (part: string): string => `YYYY-MM-DD${separator}HH:MM:SS${part}${zone}`;
  if (fraction === '') return [form('')];
  const width = 'f'.repeat(fraction.length);
  return [form(`.${width}`), form(`[.${width}]`), form('[.f*]')];
}

function timeWriter(form: ValueForm): ValueWriter {
  const [, separator = 'T', optional = '', width = '', trimmed = '', zone = ''] = TIME_FORM.exec(form) ?? [];
  const digits = trimmed === '' ? width.length : 0;
  return ofText((value) => {
    const [whole = '', stored = ''] = value.split('.');
    const fraction = stored.replace(/0+$/, '');
    const written = optional !== '' && fraction === '' ? '' : trimmed === '' ? fraction.padEnd(digits, '0') : fraction;
    return `${whole.replace(' ', separator)}${written === '' ? '' : `.${written}`}${zone}`;
  });
}

function numberForms(sent: unknown): ValueForm[] {
  if (typeof sent === 'number') return ['number'];
  const match = typeof sent === 'string' ? NUMERAL.exec(sent) : null;
  return match === null ? [] : [`text ${match[1]?.length ?? 0}`, 'text'];
}

function numberWriter(form: ValueForm | null): ValueWriter {
  if (form === null || form === 'number') return (value) => value;
  if (form === 'text') return (value) => (typeof value === 'number' ? String(value) : value);
  const decimals = Number(form.slice('text '.length));
  return (value) => (typeof value === 'number' ? value.toFixed(decimals) : value);
}
