import { CASELESS } from '../numbers/order.ts';

/** Keys of texts, and the same without regard to case. */
function texts(...keys: readonly string[]): string[] {
  return [...keys, ...keys.map((key) => `${key}${CASELESS}`)];
}

/** Candidate orders of each list, the default first: sort keys of `src/metrics/numbers`, with a leading `-` for descending. */
export const orderCandidates = {
  entityOrder: [
    ...['listed', ...texts('name'), 'competitorId'].map((key) => ['brand', key]),
    ...['-visibility', '-shareOfVoice', '-mentions'].flatMap((key) =>
      ['listed', ...texts('name'), 'competitorId'].flatMap((tie) => [
        ['brand', key, tie],
        [key, 'brand', tie],
        [key, tie],
      ]),
    ),
  ],
  dayOrder: [
    ['date', 'engine', 'entity'],
    ...['date', '-date'].flatMap((date) =>
      ['engine', 'engineListed', '-engine'].flatMap((engine) => [
        [date, engine, 'entity'],
        [date, 'entity', engine],
      ]),
    ),
    ...['date', '-date'].flatMap((date) => [
      ['engine', date, 'entity'],
      ['entity', date, 'engine'],
      ['entity', date, 'engineListed'],
      ['entity', 'engine', date],
    ]),
  ],
  promptOrder: [
    ['exactVisibility'],
    ['visibility'],
    ['answered', 'exactVisibility'],
    ['answered', 'visibility'],
  ].flatMap((first) =>
    [
      'promptId',
      ...texts('prompt'),
      'listed',
      'createdAt',
      '-createdAt',
      '-responses',
      'responses',
      '-prompt',
      '-promptId',
    ].flatMap((tie) =>
      /responses|createdAt/.test(tie)
        ? ['promptId', ...texts('prompt'), 'listed'].map((last) => [...first, tie, last])
        : [[...first, tie]],
    ),
  ),
  groupOrder: [
    ['listed'],
    ['stageAppearance', 'listed'],
    ...texts('name').map((name) => [name, 'groupId']),
    ['groupId'],
    ['appearance'],
    ...texts('-name').map((name) => [name, 'groupId']),
    ...[
      '-visibility',
      'visibility',
      '-responses',
      '-prompts',
      '-exactVisibility',
      'exactVisibility',
      '-shareOfVoice',
    ].flatMap((key) => [[key, 'listed'], ...texts('name').map((name) => [key, name, 'groupId']), [key, 'groupId']]),
  ],
  domainOrder: [[], ['-responses'], ['responses']].flatMap((first) =>
    [['domain'], ['-domain'], ['firstTime', 'domain'], ['-lastTime', 'domain'], ['firstSeen'], ['-lastSeen']].map(
      (last) => ['-citations', ...first, ...last],
    ),
  ),
  urlOrder: [
    ['url'],
    ['-url'],
    ...['firstTime', '-lastTime', 'domain', ...texts('title', '-title'), '-responses'].map((key) => [key, 'url']),
    ['firstSeen'],
    ['-lastSeen'],
    ['-responses', '-lastSeen'],
  ].map((last) => ['-citations', ...last]),
  visitOrder: ['date', '-date'].flatMap((date) => [
    [date, 'source'],
    [date, '-source'],
    [date, '-sessions', 'source'],
    [date, 'sessions', 'source'],
    ['source', date],
    ['-sessions', date, 'source'],
  ]),
  topCompetitorOrder: [
    ...texts('name').map((name) => [name]),
    ['listed'],
    ['competitorId'],
    ['brand', 'competitorId'],
    ...texts('name').map((name) => ['brand', name]),
    ...texts('-name').map((name) => [name]),
    ['-competitorId'],
  ].map((last) => ['-mentions', ...last]),
} satisfies Readonly<Record<string, readonly (readonly string[])[]>>;

/** Names of the orders. */
export type OrderName = keyof typeof orderCandidates;

/** Sort keys of each order. */
export function keysOf(name: OrderName): string[] {
  return [...new Set(orderCandidates[name].flat().map((key) => key.replace(/^-/, '')))];
}
