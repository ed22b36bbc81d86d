// @ts-check
import { count, fill, h, plural } from './dom.js';
import { brandPicker, empty } from './overview.js';

const MONTHS_SHOWN = 6;
const WEEKDAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'];

/** @type {Record<string, { state: string, sign: string, text: string }>} */
const states = {
  v: { state: 'verified', sign: '✓', text: 'verified: agrees with upstream' },
  w: { state: 'whole', sign: '●', text: 'whole: read after its end' },
  p: { state: 'partial', sign: '◐', text: 'partial: read before its end' },
  d: { state: 'differs', sign: '≠', text: 'differs from upstream' },
  m: { state: 'missing', sign: '×', text: 'missing: never read' },
};

const shown = { brandId: '', all: false, day: '' };

/**
 * @param {HTMLElement} place
 * @param {any} report
 */
export function showCalendar(place, report) {
  const { copy } = report;
  const brands = copy?.status.brands ?? [];
  if (brands.length === 0) {
    fill(place, empty(report));
    return;
  }
  if (!brands.some((/** @type {any} */ brand) => brand.brandId === shown.brandId)) shown.brandId = brands[0].brandId;
  const calendar = copy.calendars.find((/** @type {any} */ one) => one.brandId === shown.brandId);
  const months = shown.all ? calendar.months : calendar.months.slice(-MONTHS_SHOWN);
  const again = () => showCalendar(place, report);
  const description = h(
    'p',
    { id: 'day-told', class: 'quiet' },
    'Point at a day, or move between days with the arrow keys.',
  );
  const dates = months.flatMap((/** @type {any} */ month) => daysOf(month).map(({ date }) => date));
  if (!dates.includes(shown.day)) shown.day = dates.at(-1) ?? '';
  const grid = h(
    'div',
    { class: 'months' },
    months.map((/** @type {any} */ month) => monthTable(month)),
  );
  const describe = (/** @type {Event} */ event) => {
    const cell = event.target instanceof Element ? event.target.closest('[data-date]') : null;
    if (cell !== null) description.textContent = cell.getAttribute('aria-label');
  };
  grid.addEventListener('mouseover', describe);
  grid.addEventListener('focusin', describe);
  grid.addEventListener('keydown', (event) => walk(event, grid, dates));
  fill(
    place,
    brands.length > 1 &&
      brandPicker('days-brand', brands, shown.brandId, (event) => {
        shown.brandId = /** @type {HTMLSelectElement} */ (event.target).value;
        again();
      }),
    h(
      'ul',
      { class: 'legend' },
      Object.values(states).map(({ state, sign, text }) =>
        h(
          'li',
          {},
          h('span', { class: `day ${state}`, 'aria-hidden': 'true' }, sign),
          `${text.split(':')[0]}, ${count(calendar.counts[state])}`,
        ),
      ),
    ),
    months.length === 0 ? h('p', { class: 'quiet' }, 'No days yet.') : grid,
    description,
    calendar.months.length > MONTHS_SHOWN &&
      h(
        'button',
        {
          type: 'button',
          'data-id': 'days-all',
          'aria-expanded': String(shown.all),
          onclick: () => {
            shown.all = !shown.all;
            again();
          },
        },
        shown.all ? `Show ${MONTHS_SHOWN} months` : `Show all ${plural(calendar.months.length, 'month')}`,
      ),
  );
}

/**
 * @param {{ month: string, days: string }} month
 * @returns {{ date: string, letter: string }[]}
 */
function daysOf({ month, days }) {
  return [...days].flatMap((letter, index) =>
    letter === '.' ? [] : [{ date: `${month}-${String(index + 1).padStart(2, '0')}`, letter }],
  );
}

/** @param {{ month: string, days: string }} month */
function monthTable(month) {
  const first = new Date(`${month.month}-01T00:00:00Z`);
  const name = first.toLocaleDateString('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' });
  const before = (first.getUTCDay() + 6) % 7;
  const length = new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + 1, 0)).getUTCDate();
  const letters = new Map(daysOf(month).map(({ date, letter }) => [Number(date.slice(8)), { date, letter }]));
  const rows = [];
  for (let start = 1 - before; start <= length; start += 7) {
    const cells = WEEKDAYS.map((_, index) => {
      const day = start + index;
      const known = letters.get(day);
      if (known === undefined)
        return h('td', { 'aria-hidden': 'true' }, day >= 1 && day <= length ? h('span', { class: 'day none' }) : null);
      return h('td', {}, dayCell(known));
    });
    rows.push(h('tr', {}, cells));
  }
  return h(
    'table',
    { class: 'month' },
    h('caption', {}, name),
    h(
      'thead',
      { class: 'hidden-text' },
      h(
        'tr',
        {},
        WEEKDAYS.map((weekday) => h('th', { scope: 'col' }, weekday)),
      ),
    ),
    h('tbody', {}, rows),
  );
}

// Only one day is in the tab order; arrow keys move between days.
/** @param {{ date: string, letter: string }} day */
function dayCell({ date, letter }) {
  const { state, sign, text } = states[letter] ?? { state: 'none', sign: '', text: 'not known' };
  const words = new Date(`${date}T00:00:00Z`).toLocaleDateString('en-GB', {
    weekday: 'short',
    day: 'numeric',
    month: 'long',
    year: 'numeric',
    timeZone: 'UTC',
  });
  return h(
    'span',
    {
      class: `day ${state}`,
      role: 'img',
      'data-date': date,
      'data-id': `day-${date}`,
      tabindex: date === shown.day ? '0' : '-1',
      'aria-label': `${words}: ${text}`,
    },
    sign,
  );
}

/** @type {Record<string, number>} */
const steps = {
  ArrowLeft: -1,
  ArrowRight: 1,
  ArrowUp: -7,
  ArrowDown: 7,
  PageUp: -28,
  PageDown: 28,
  Home: -Infinity,
  End: Infinity,
};

/**
 * @param {KeyboardEvent} event
 * @param {HTMLElement} grid
 * @param {readonly string[]} dates
 */
function walk(event, grid, dates) {
  const step = steps[event.key];
  const at = dates.indexOf(shown.day);
  if (step === undefined || at < 0) return;
  event.preventDefault();
  const next = dates[Math.max(0, Math.min(dates.length - 1, at + step))] ?? shown.day;
  const cellOf = (/** @type {string} */ date) =>
    /** @type {HTMLElement | null} */ (grid.querySelector(`[data-date="${date}"]`));
  cellOf(shown.day)?.setAttribute('tabindex', '-1');
  shown.day = next;
  const cell = cellOf(next);
  cell?.setAttribute('tabindex', '0');
  cell?.focus();
}
