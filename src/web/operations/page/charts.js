// @ts-check
import { askJson } from './client.js';
import { fill, h } from './dom.js';
import { brandPicker, empty } from './overview.js';

const DAY_MS = 86_400_000;
const RANGE_DAYS_MAX = 366;
const NARROW = '(max-width: 560px)';

/** @type {{ brandId: string, from: string, to: string, days: number, asked: string, number: number }} */
const chosen = { brandId: '', from: '', to: '', days: 30, asked: '', number: 0 };
/** @type {{ place: HTMLElement | null, report: any }} */
const last = { place: null, report: null };

/**
 * @param {HTMLElement} place
 * @param {any} report
 */
export function showCharts(place, report) {
  Object.assign(last, { place, report });
  const brands = report.copy?.status.brands ?? [];
  if (brands.length === 0) {
    chosen.asked = '';
    fill(place, empty(report));
    return;
  }
  if (!brands.some((/** @type {any} */ brand) => brand.brandId === chosen.brandId)) chosen.brandId = brands[0].brandId;
  const today = report.now.slice(0, 10);
  if (chosen.days > 0) {
    chosen.to = today;
    chosen.from = addDays(today, 1 - chosen.days);
  }
  // Keep the pickers while they are in use; only the charts below change.
  const known = place.querySelector('.pickers');
  if (known === null || known.getAttribute('data-brands') !== brandsOf(brands)) {
    // The charts are replaced together with the pickers.
    chosen.asked = '';
    fill(
      place,
      pickers(brands),
      h('p', { class: 'error', role: 'alert', id: 'charts-error' }),
      h('div', { class: 'charts', 'aria-live': 'off' }),
    );
  } else {
    value('charts-from', chosen.from);
    value('charts-to', chosen.to);
  }
  void draw(place, report);
}

/** @param {readonly any[]} brands */
function brandsOf(brands) {
  return brands.map(({ brandId, name }) => `${brandId} ${name}`).join('\n');
}

/** @param {readonly any[]} brands */
function pickers(brands) {
  const again = () => void (last.place !== null && showCharts(last.place, last.report));
  const day = (/** @type {string} */ id, /** @type {string} */ text, /** @type {'from' | 'to'} */ which) =>
    h(
      'div',
      { class: 'field' },
      h('label', { for: id }, text),
      h('input', {
        type: 'date',
        id,
        'data-id': id,
        value: chosen[which],
        required: true,
        onchange: (/** @type {Event} */ event) => {
          chosen[which] = /** @type {HTMLInputElement} */ (event.target).value;
          chosen.days = 0;
          press();
          again();
        },
      }),
    );
  const ranges = [
    { days: 30, text: '30 days' },
    { days: 90, text: '90 days' },
    { days: 365, text: '1 year' },
  ];
  const press = () => {
    for (const button of row.querySelectorAll('[data-days]')) {
      button.setAttribute('aria-pressed', String(Number(button.getAttribute('data-days')) === chosen.days));
    }
  };
  const row = h(
    'div',
    { class: 'pickers', 'data-brands': brandsOf(brands) },
    brandPicker('charts-brand', brands, chosen.brandId, (event) => {
      chosen.brandId = /** @type {HTMLSelectElement} */ (event.target).value;
      again();
    }),
    day('charts-from', 'From', 'from'),
    day('charts-to', 'To', 'to'),
    h(
      'div',
      { class: 'ranges', role: 'group', 'aria-label': 'Range of days' },
      ranges.map(({ days, text }) =>
        h(
          'button',
          {
            type: 'button',
            'data-days': days,
            'data-id': `charts-${days}`,
            onclick: () => {
              chosen.days = days;
              press();
              again();
            },
          },
          text,
        ),
      ),
    ),
  );
  press();
  return row;
}

/**
 * @param {HTMLElement} place
 * @param {any} report
 */
async function draw(place, report) {
  const { brandId, from, to } = chosen;
  const error = /** @type {HTMLElement} */ (place.querySelector('#charts-error'));
  const wrong =
    from === '' || to === ''
      ? 'Choose both days.'
      : from > to
        ? 'The first day is after the last.'
        : daysIn(from, to) > RANGE_DAYS_MAX
          ? `A range can have at most ${RANGE_DAYS_MAX} days.`
          : '';
  error.textContent = wrong;
  if (wrong !== '') return;
  const width = matchMedia(NARROW).matches ? 'narrow' : 'wide';
  const question = new URLSearchParams({ brand: brandId, from, to, width }).toString();
  // Identical requests for the same data version have identical responses.
  const asked = `${question} ${report.dataVersion}`;
  if (asked === chosen.asked) return;
  chosen.asked = asked;
  chosen.number += 1;
  const { number } = chosen;
  const charts = /** @type {HTMLElement} */ (place.querySelector('.charts'));
  charts.setAttribute('aria-busy', 'true');
  try {
    const answer = await askJson(`status/chart?${question}`);
    // A later request may have been completed first.
    if (number !== chosen.number) return;
    fill(
      charts,
      answer.partial && h('p', { class: 'quiet' }, 'Some of these days were never read completely.'),
      answer.charts.map(figure),
    );
  } catch (thrown) {
    if (number !== chosen.number) return;
    chosen.asked = '';
    error.textContent = /** @type {Error} */ (thrown).message;
  } finally {
    if (number === chosen.number) charts.removeAttribute('aria-busy');
  }
}

/** @param {any} chart */
function figure({ name, title, about, svg, engines, whole, rows }) {
  const percent = (/** @type {number | null} */ part) =>
    part === null ? '–' : `${((100 * part) / whole).toFixed(1)} %`;
  const drawing = svg === null ? h('p', { class: 'quiet' }, 'No responses on these days.') : picture(svg);
  const body = [...rows].reverse().map((/** @type {any} */ [day, ...values]) =>
    h(
      'tr',
      {},
      h('th', { scope: 'row' }, day),
      values.map((/** @type {number | null} */ part) => h('td', { class: 'number' }, percent(part))),
    ),
  );
  return h(
    'figure',
    { class: 'chart' },
    h('figcaption', {}, h('h3', {}, title), h('p', {}, about)),
    drawing,
    rows.length > 0 &&
      h(
        'details',
        { 'data-id': `numbers-${name}` },
        h('summary', { 'data-id': `numbers-${name}-summary` }, 'The numbers'),
        h(
          'div',
          {
            class: 'scroll tall',
            tabindex: '0',
            role: 'group',
            'aria-label': `${title}, numbers`,
            'data-id': `rows-${name}`,
          },
          h(
            'table',
            {},
            h('caption', { class: 'hidden-text' }, `${title}, newest day first`),
            h(
              'thead',
              {},
              h(
                'tr',
                {},
                h('th', { scope: 'col' }, 'Day'),
                engines.map((/** @type {string} */ engine) => h('th', { scope: 'col', class: 'number' }, engine)),
              ),
            ),
            h('tbody', {}, body),
          ),
        ),
      ),
  );
}

/** @param {string} svg */
function picture(svg) {
  const { documentElement } = new DOMParser().parseFromString(svg, 'image/svg+xml');
  const drawing = document.importNode(documentElement, true);
  drawing.removeAttribute('width');
  drawing.removeAttribute('height');
  return h('div', { class: 'drawing' }, drawing);
}

/**
 * @param {string} id
 * @param {string} text
 */
function value(id, text) {
  const input = /** @type {HTMLInputElement | null} */ (document.getElementById(id));
  if (input !== null && document.activeElement !== input) input.value = text;
}

/**
 * @param {string} day
 * @param {number} days
 */
function addDays(day, days) {
  return new Date(Date.parse(`${day}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, 10);
}

/**
 * @param {string} from
 * @param {string} to
 */
function daysIn(from, to) {
  return Math.round((Date.parse(to) - Date.parse(from)) / DAY_MS) + 1;
}

matchMedia(NARROW).addEventListener('change', () => {
  if (last.place !== null && last.report !== null) showCharts(last.place, last.report);
});
