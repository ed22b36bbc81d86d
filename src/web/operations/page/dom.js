// @ts-check

/** @typedef {Node | string | null | undefined | false} Child */

/**
 * Creates an element. Attributes that are null or false are left out, true is an attribute without a value, and a
 * function is added as a listener of the event named after `on`.
 * @param {string} name
 * @param {Record<string, unknown>} [attributes]
 * @param {...(Child | Child[])} children
 * @returns {HTMLElement}
 */
export function h(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === 'function') {
      element.addEventListener(attribute.slice(2), /** @type {EventListener} */ (value));
    } else element.setAttribute(attribute, value === true ? '' : String(value));
  }
  for (const child of children.flat())
    if (child !== null && child !== undefined && child !== false) element.append(child);
  return element;
}

/** @type {Record<string, string>} */
const marks = {
  good: 'M3.5 8.5l3 3 6-7',
  busy: 'M8 3v5l3.5 2',
  attention: 'M8 3.5v6M8 12.2v.3',
  problem: 'M4 4l8 8M12 4l-8 8',
};

/**
 * Creates an icon that differs in shape as well as colour.
 * @param {string} level
 * @returns {SVGElement}
 */
export function sign(level) {
  const make = (/** @type {string} */ name, /** @type {Record<string, string>} */ attributes) => {
    const element = document.createElementNS('http://www.w3.org/2000/svg', name);
    for (const [attribute, value] of Object.entries(attributes)) element.setAttribute(attribute, value);
    return element;
  };
  const icon = make('svg', { viewBox: '0 0 16 16', class: `sign ${level}`, 'aria-hidden': 'true' });
  icon.append(
    make('circle', { cx: '8', cy: '8', r: '8', class: 'disc' }),
    make('path', { d: marks[level] ?? '', class: 'mark' }),
  );
  return /** @type {SVGElement} */ (icon);
}

/**
 * Replaces the content of an element, preserving open details, scroll positions and focus. Elements are matched by
 * `data-id`.
 * @param {HTMLElement} place
 * @param {...(Child | Child[])} children
 */
export function fill(place, ...children) {
  const before = new Map(
    partsOf(place).map(([id, part]) => [
      id,
      { isOpen: part.hasAttribute('open'), left: part.scrollLeft, top: part.scrollTop },
    ]),
  );
  const active = document.activeElement;
  const focused = active instanceof HTMLElement && place.contains(active) ? active.dataset['id'] : undefined;
  const content = children.flat().filter((child) => child !== null && child !== undefined && child !== false);
  place.replaceChildren(...content.map((child) => /** @type {Node | string} */ (child)));
  for (const [id, part] of partsOf(place)) {
    const { isOpen = false, left = 0, top = 0 } = before.get(id) ?? {};
    if (isOpen) part.setAttribute('open', '');
    if (left + top > 0) part.scrollTo({ left, top, behavior: 'instant' });
    if (id === focused) part.focus({ preventScroll: true });
  }
}

/**
 * @param {HTMLElement} place
 * @returns {[string, HTMLElement][]}
 */
function partsOf(place) {
  const parts = /** @type {NodeListOf<HTMLElement>} */ (place.querySelectorAll('[data-id]'));
  return [...parts].map((part) => [part.dataset['id'] ?? '', part]);
}

/**
 * Creates a table that scrolls horizontally if it is too wide.
 * @param {string} caption
 * @param {readonly (string | { text: string, number?: boolean })[]} columns
 * @param {readonly (readonly (Child | Child[])[])[]} rows the first cell of each row is its header
 * @returns {HTMLElement}
 */
export function table(caption, columns, rows) {
  const isNumber = columns.map((column) => typeof column !== 'string' && column.number === true);
  const head = columns.map((column, index) =>
    h('th', { scope: 'col', class: isNumber[index] && 'number' }, typeof column === 'string' ? column : column.text),
  );
  const body = rows.map((cells) =>
    h(
      'tr',
      {},
      cells.map((cell, index) =>
        h(index === 0 ? 'th' : 'td', { scope: index === 0 && 'row', class: isNumber[index] && 'number' }, cell),
      ),
    ),
  );
  return h(
    'div',
    { class: 'scroll', tabindex: '0', role: 'group', 'aria-label': caption, 'data-id': caption },
    h(
      'table',
      {},
      h('caption', { class: 'hidden-text' }, caption),
      h('thead', {}, h('tr', {}, head)),
      h('tbody', {}, body),
    ),
  );
}

const whole = new Intl.NumberFormat('en-US');

/** @param {number} value */
export function count(value) {
  return whole.format(value);
}

/**
 * @param {number} amount
 * @param {string} one
 */
export function plural(amount, one) {
  return `${count(amount)} ${one}${amount === 1 ? '' : 's'}`;
}

/** @param {number} bytes */
export function size(bytes) {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

/**
 * Formats a duration in one or two units.
 * @param {number} ms
 */
export function span(ms) {
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return seconds % 60 === 0 ? `${minutes} min` : `${minutes} min ${seconds % 60} s`;
  const hours = Math.floor(minutes / 60);
  return `${hours} h ${minutes % 60} min`;
}

/**
 * Formats the distance of a time from now, past or future.
 * @param {number} atMs
 * @param {number} nowMs
 */
export function relative(atMs, nowMs) {
  const minutes = Math.round(Math.abs(nowMs - atMs) / 60_000);
  const isAhead = atMs > nowMs;
  const amount =
    minutes < 60
      ? plural(minutes, 'minute')
      : minutes < 36 * 60
        ? plural(Math.round(minutes / 60), 'hour')
        : plural(Math.round(minutes / 1440), 'day');
  if (minutes < 1) return isAhead ? 'in a moment' : 'just now';
  return isAhead ? `in ${amount}` : `${amount} ago`;
}

/** @param {string | number} time */
export function minute(time) {
  return `${new Date(time).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

// Difference between the server's clock and this one; all shown times are the server's.
let behindMs = 0;

/**
 * Sets the difference to the server's clock.
 * @param {string} time ISO 8601
 */
export function setClock(time) {
  behindMs = Date.parse(time) - Date.now();
}

/**
 * Creates an element that shows a relative time, with the absolute time as tooltip.
 * @param {string | number | null} time ISO 8601, or epoch milliseconds
 * @param {string} [never]
 * @returns {Node}
 */
export function moment(time, never = 'never') {
  if (time === null) return document.createTextNode(never);
  const atMs = new Date(time).getTime();
  return h(
    'time',
    { datetime: new Date(atMs).toISOString(), title: minute(atMs), 'data-moment': atMs },
    relative(atMs, Date.now() + behindMs),
  );
}

/** Updates all relative times on the page. */
export function renewMoments() {
  for (const one of document.querySelectorAll('[data-moment]')) {
    const text = relative(Number(/** @type {HTMLElement} */ (one).dataset['moment']), Date.now() + behindMs);
    if (one.textContent !== text) one.textContent = text;
  }
}
