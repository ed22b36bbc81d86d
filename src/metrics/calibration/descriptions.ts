import { toExactJson } from '../../base/json.ts';
import { type Conventions, type LIST_ORDERS, type Rounding, type ShareForm } from './conventions.ts';
import { describeRounding } from './forms.ts';
import { choiceText, hasWords, orderText } from './point-words.ts';
import { membersOf } from './points/point.ts';
import { calibrationPoints } from './points/points.ts';

/** What the specification leaves open about the orders of paged lists. */
const listOrders: Readonly<Record<(typeof LIST_ORDERS)[keyof typeof LIST_ORDERS], string>> = {
  responseOrder: 'the order of responses with the same time',
  alertOrder: 'the order of alerts with the same time',
  threadOrder: 'the time by which forum threads are ordered, and the order of threads with the same time',
};

const abouts = new Map<string, string>([
  ...calibrationPoints.flatMap((point) => [...membersOf(point)]),
  ...Object.entries(listOrders),
]);

/** Names of all conventions, in the order of the documentation. */
export const conventionNames = [...abouts.keys()] as readonly (keyof Conventions)[];

/** Returns what the specification leaves open, as a phrase. */
export function aboutConvention(name: keyof Conventions): string {
  return abouts.get(name) ?? name;
}

/** Returns the value of a convention in a few words. */
export function describeConvention(name: keyof Conventions, value: unknown): string {
  switch (name) {
    case 'visibility':
    case 'shareOfVoice':
    case 'shareOfSite':
    case 'visibilityChange':
    case 'domainShare': {
      const form = value as ShareForm & { readonly as?: string; readonly of?: string };
      const details = [form.as, form.of === undefined ? undefined : `of ${form.of}`].filter(
        (part) => part !== undefined,
      );
      return [form.whole === 100 ? 'percent' : 'fraction', describeRounding(form), ...details].join(', ');
    }
    case 'avgPosition':
    case 'sentiment':
      return describeRounding(value as Rounding);
    case 'labels':
      return Object.entries(value as Record<string, number>)
        .map(([label, weight]) => `${label} ${weight}`)
        .join(', ');
    default:
      if (hasWords(name)) return `${String(value)}: ${choiceText(name, value as Conventions[typeof name])}`;
      return Array.isArray(value) ? orderText(value) : typeof value === 'string' ? value : toExactJson(value);
  }
}
