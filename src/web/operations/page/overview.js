// @ts-check
import { count, fill, h, moment, plural, sign, span, table } from './dom.js';

/** @type {Record<string, string>} */
const words = { good: 'All well', busy: 'Working', attention: 'Attention', problem: 'Problem' };

/**
 * @param {HTMLElement} place
 * @param {any} report
 */
export function showOverview(place, report) {
  const [first, ...others] = report.findings;
  fill(
    place,
    h(
      'div',
      { class: `headline ${first.level}` },
      sign(first.level),
      h(
        'div',
        {},
        h('p', { class: 'word' }, words[first.level] ?? first.level),
        h('p', { class: 'sentence' }, first.sentence),
        command(first.command),
        consequences(first),
      ),
    ),
    others.length > 0 &&
      h(
        'ul',
        { class: 'findings' },
        others.map((/** @type {any} */ { level, sentence, command: what, consequences: effects }) =>
          h(
            'li',
            {},
            sign(level),
            h(
              'div',
              {},
              h('span', { class: 'hidden-text' }, `${words[level]}: `),
              sentence,
              ' ',
              command(what),
              consequences({ consequences: effects }),
            ),
          ),
        ),
      ),
    h('dl', { class: 'facts' }, facts(report)),
  );
}

/** @param {any} finding */
function consequences({ consequences: sentences }) {
  return (
    sentences.length > 0 &&
    h(
      'ul',
      { class: 'consequences' },
      sentences.map((/** @type {string} */ sentence) => h('li', {}, sentence)),
    )
  );
}

/** @param {string | null} text */
function command(text) {
  return text === null ? null : h('code', { class: 'command' }, text);
}

/** @param {any} report */
function facts({ copy, progress, budget, jobs, runsJobs }) {
  const read = copy?.status.freshness?.asOf ?? null;
  const through = copy === null || copy.status.brands.length === 0 ? null : leastThrough(copy.status.brands);
  const next = jobs
    .filter((/** @type {any} */ job) => job.next !== null)
    .sort((/** @type {any} */ a, /** @type {any} */ b) => (a.next < b.next ? -1 : 1))[0];
  const now = budget.minutes.at(-1);
  return [
    fact('Data complete as of', moment(read)),
    fact('Verified through', through ?? 'not yet'),
    progress === null
      ? fact(
          'Requests this minute',
          now > budget.limit && budget.isDocumented ? count(now) : `${count(now)} of ${count(budget.limit)}`,
        )
      : fact(
          'Sync',
          `${share(progress)} %, ${progress.secondsToGo === null ? 'end unknown' : `${span(progress.secondsToGo * 1000)} to go`}`,
        ),
    fact(
      'Next job',
      next === undefined ? 'none' : [`${next.name} `, moment(next.next), runsJobs ? '' : ', not run here'],
    ),
  ];
}

/**
 * Progress of a sync in whole percent; at most 99 until it has ended.
 * @param {{ done: number, expected: number }} progress
 */
export function share({ done, expected }) {
  return expected === 0 ? 0 : Math.min(99, Math.floor((100 * done) / expected));
}

/** @param {readonly { verifiedThrough: string | null }[]} brands */
function leastThrough(brands) {
  const days = brands.map(({ verifiedThrough }) => verifiedThrough);
  return days.includes(null) ? null : /** @type {string[]} */ (days).sort()[0];
}

/**
 * @param {string} name
 * @param {any} value
 */
function fact(name, value) {
  return h('div', {}, h('dt', {}, name), h('dd', {}, value));
}

let chosenBrand = '';

/**
 * @param {HTMLElement} place
 * @param {any} report
 */
export function showFreshness(place, report) {
  const { copy } = report;
  if (copy === null) {
    fill(place, empty(report));
    return;
  }
  const brands = copy.status.brands;
  if (!brands.some((/** @type {any} */ brand) => brand.brandId === chosenBrand)) chosenBrand = '';
  const chosen = brands.findIndex((/** @type {any} */ brand) => brand.brandId === chosenBrand);
  const byName = new Map(copy.status.resources.map((/** @type {any} */ one) => [one.resource, one]));
  const choose = (/** @type {Event} */ event) => {
    chosenBrand = /** @type {HTMLSelectElement} */ (event.target).value;
    showFreshness(place, report);
  };
  fill(
    place,
    brands.length > 1 && brandPicker('freshness-brand', brands, chosenBrand, choose, 'All brands (oldest)'),
    table(
      'Freshness of each resource',
      ['Resource', 'Last read', 'Coverage', { text: 'Days missing', number: true }],
      copy.freshness.map((/** @type {any} */ row) => freshnessRow(row, byName.get(row.resource), chosen, chosenBrand)),
    ),
    h('h3', {}, 'Brands'),
    brands.length === 0
      ? h('p', { class: 'quiet' }, 'No brands.')
      : table(
          'Verification of each brand',
          ['Brand', 'Verified through', 'Checked', { text: 'Days that differ', number: true }],
          brands.map((/** @type {any} */ brand) => [
            h('div', { class: 'wrap' }, brand.name || brand.brandId),
            brand.verifiedThrough ?? (brand.verifiedAt === null ? 'never verified' : 'not from its first day'),
            moment(brand.verifiedAt),
            brand.differingDays === 0 ? '0' : marked('attention', count(brand.differingDays)),
          ]),
        ),
    copy.brandsLeftOut > 0 &&
      h('p', { class: 'quiet' }, `${plural(copy.brandsLeftOut, 'brand')} more; sightline status lists all.`),
    copy.status.unlearned.length > 0 &&
      h(
        'p',
        { class: 'quiet' },
        `Not yet calibrated from upstream's numbers: ${copy.status.unlearned.map((/** @type {any} */ one) => one.name).join(', ')}.`,
      ),
  );
}

/**
 * @param {any} row
 * @param {any} known
 * @param {number} chosen
 * @param {string} brandId
 */
function freshnessRow(row, known, chosen, brandId) {
  const index = row.scope === 'brand' ? chosen : 0;
  const times = index < 0 ? row.readAt : [row.readAt[index] ?? null];
  const isPartial = index < 0 ? row.partial.includes('1') : row.partial[index] === '1';
  const read = times.filter((/** @type {number | null} */ time) => time !== null);
  const oldest = read.length === 0 ? null : Math.min(...read) * 1000;
  const state =
    read.length === 0
      ? marked('attention', 'never read')
      : isPartial || read.length < times.length || missingDays(known, chosen < 0 ? null : brandId) > 0
        ? marked('attention', 'partly never read')
        : marked('good', 'complete');
  const unfinished = known?.unfinished > 0 ? ` ${plural(known.unfinished, 'list')} not finished` : '';
  return [row.resource, moment(oldest), [state, unfinished], missing(known, chosen < 0 ? null : brandId)];
}

// The report lists only the newest ranges of missing days; `gapDays` and `gapBrands` count all.
/**
 * @param {any} known
 * @param {string | null} brandId null for all brands
 */
function missing(known, brandId) {
  const days = missingDays(known, brandId);
  if (days === 0) return '0';
  const gaps = known.gaps.filter((/** @type {any} */ gap) => brandId === null || gap.brandId === brandId);
  const ranges = gaps.map((/** @type {any} */ gap) => (gap.from === gap.to ? gap.from : `${gap.from} to ${gap.to}`));
  return h('span', { title: ranges.join(', ') }, count(days));
}

/**
 * @param {any} known
 * @param {string | null} brandId null for all brands
 */
function missingDays(known, brandId) {
  if (known === undefined) return 0;
  if (brandId === null) return known.gapDays;
  return known.gapBrands.find((/** @type {any} */ gap) => gap.brandId === brandId)?.days ?? 0;
}

/**
 * @param {string} level
 * @param {string} text
 */
export function marked(level, text) {
  return h('span', { class: 'marked' }, sign(level), text);
}

/**
 * @param {string} id
 * @param {readonly any[]} brands
 * @param {string} chosen
 * @param {(event: Event) => void} onchange
 * @param {string} [all] label of the option for all brands
 */
export function brandPicker(id, brands, chosen, onchange, all) {
  const options = brands.map((brand) =>
    h('option', { value: brand.brandId, selected: brand.brandId === chosen }, brand.name || brand.brandId),
  );
  return h(
    'div',
    { class: 'field' },
    h('label', { for: id }, 'Brand'),
    h('select', { id, 'data-id': id, onchange }, all !== undefined && h('option', { value: '' }, all), options),
  );
}

/** @param {any} report */
export function empty({ copyState, progress }) {
  const text =
    copyState === 'unreadable'
      ? 'The replica is damaged and cannot be shown.'
      : progress === null
        ? 'No data yet.'
        : 'No data yet. Data appear when the first sync has read all lists.';
  return h('p', { class: 'quiet' }, text);
}
