import { expect, test } from 'vitest';
import { grainOf } from '../../../src/web/app/state/calendar-days.ts';
import { problemOf, rangeOf, readFilters, scopeParams, writeFilters } from '../../../src/web/app/state/filters.ts';
import { createFormat } from '../../../src/web/app/state/format.ts';
import { matchPath } from '../../../src/web/app/state/router.tsx';

test('filters that are read from an address and written again give the same address', () => {
  const text =
    'brand=b&range=90d&engine=a&engine=c&topic=t&tag=g&branded=branded&prompt=p&competitor=k&compare_to=year&view=x';
  expect(writeFilters(new URLSearchParams(text), readFilters(new URLSearchParams(text))).toString()).toBe(text);
  expect(writeFilters(new URLSearchParams(''), readFilters(new URLSearchParams(''))).toString()).toBe('');
});

test('values that are not allowed are read as the default', () => {
  const filters = readFilters(new URLSearchParams('range=2d&branded=maybe&compare_to=x&from=2026-02-30&to=2026-03-01'));
  expect(filters).toMatchObject({ range: '28d', from: null, to: null, branded: null, compareTo: 'previous' });
  expect(readFilters(new URLSearchParams('from=2026-03-02&to=2026-03-01')).range).toBe('28d');
});

test('a range ends at the last complete day, and custom days are taken as given', () => {
  const rangeAt = (text: string, firstDay = '2025-03-01') =>
    rangeOf(readFilters(new URLSearchParams(text)), '2026-11-21', { firstDay, lastDay: '2026-11-22' });
  expect(rangeAt('')).toEqual({ from: '2026-10-25', to: '2026-11-21' });
  expect(rangeAt('range=7d')).toEqual({ from: '2026-11-15', to: '2026-11-21' });
  expect(rangeAt('range=all')).toEqual({ from: '2025-03-01', to: '2026-11-21' });
  expect(rangeAt('from=2026-01-05&to=2026-01-05')).toEqual({ from: '2026-01-05', to: '2026-01-05' });
  // On the first day there is no complete day.
  expect(rangeAt('', '2026-11-22')).toEqual({ from: '2026-10-26', to: '2026-11-22' });
  expect(rangeAt('', '2026-11-21')).toEqual({ from: '2026-10-25', to: '2026-11-21' });
  expect(grainOf('2026-10-25', '2026-11-21')).toBe('day');
  expect(grainOf('2026-08-24', '2026-11-21')).toBe('week');
  expect(grainOf('2024-08-24', '2026-11-21')).toBe('month');
});

test('the parameters of requests have the names of the server', () => {
  const filters = readFilters(new URLSearchParams('engine=a&compare_to=none'));
  expect(scopeParams(filters, 'id', { from: '2026-11-01', to: '2026-11-02' })).toMatchObject({
    brand: 'id',
    from: '2026-11-01',
    to: '2026-11-02',
    engine: ['a'],
    compare_to: 'none',
  });
});

test('a pattern matches paths of the same length and decodes its parameters', () => {
  expect(matchPath('/prompts/:id', '/prompts/a%20b')).toEqual({ id: 'a b' });
  expect(matchPath('/prompts/:id', '/prompts/%E0')).toEqual({ id: '%E0' });
  expect(matchPath('/prompts/:id', '/prompts')).toBeNull();
  expect(matchPath('/prompts/:id', '/prompts/')).toBeNull();
  expect(matchPath('/', '/')).toEqual({});
});

test('numbers and days have one form on all pages', () => {
  const english = createFormat();
  expect(english.value(0.1234, 'ratio')).toBe('12.3\u202f%');
  expect(english.value(1234567, 'count')).toBe('1,234,567');
  expect(english.value(null, 'count')).toBe('–');
  expect(english.change(0.0123, 'ratio')).toBe('+1.2 pt');
  expect(english.change(-0.5, 'position')).toBe('−0.50');
  expect(english.day('2026-11-22')).toBe('22 Nov 2026');
  expect(english.shortDay('2026-11-22')).toBe('22 Nov');
  expect(english.days('2026-10-26', '2026-11-22')).toBe('26 Oct to 22 Nov 2026');
  expect(english.days('2025-12-26', '2026-01-22')).toBe('26 Dec 2025 to 22 Jan 2026');
  expect(english.days('2026-11-01', '2026-11-22')).toBe('1 to 22 Nov 2026');
  expect(english.time('2026-11-22T23:30:00Z')).toBe('22 Nov 2026, 23:30 UTC');
  expect(english.day('never')).toBe('–');
  expect(english.value(1234567.5, 'money')).toBe('1,234,567.50');
});

test('an address with a value that is not allowed has a sentence about it', () => {
  const of = (query: string): string | null => problemOf(new URLSearchParams(query));
  expect(of('from=2026-13-01&to=2026-12-31')).toBe(
    'The address has from=2026-13-01; allowed: a calendar day such as 2026-11-22.',
  );
  expect(of('from=2026-11-02&to=2026-11-01')).toMatch(/after its last day, 2026-11-01/);
  expect(of('from=2026-11-02')).toMatch(/no last day/);
  expect(of('to=2026-11-02')).toMatch(/no first day/);
  expect(of('range=3d')).toMatch(/range=3d; allowed: 7d, 28d/);
  expect(of('compare_to=month')).toMatch(/allowed: previous, year, none/);
  expect(of('branded=maybe')).toMatch(/allowed: branded, non-branded/);
  expect(of('from=2026-11-01&to=2026-11-02&compare_to=none&engine=x')).toBeNull();
  expect(of('')).toBeNull();
});
