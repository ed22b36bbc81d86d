// @ts-check
import { count, fill, h, minute, moment, plural, sign, size, span, table } from './dom.js';
import { empty, marked, share } from './overview.js';

/**
 * @param {HTMLElement} place
 * @param {any} report
 */
export function showSync(place, { progress, budget }) {
  fill(place, progress === null ? h('p', { class: 'quiet' }, 'No sync is running.') : running(progress), hour(budget));
}

/** @param {any} progress */
function running(progress) {
  const { command, pid, startedAt, requests, rows, done, expected, secondsToGo, waitedMs, budget, resources } =
    progress;
  const percent = share(progress);
  const open = resources.filter((/** @type {any} */ one) => one.done < one.expected || one.failed > 0);
  return h(
    'div',
    { class: 'running' },
    h(
      'p',
      {},
      h('code', {}, command.startsWith('sightline') ? command : `sightline ${command}`),
      ` (process ${pid}), started `,
      moment(startedAt),
    ),
    h('progress', { max: '100', value: percent, 'aria-label': 'Progress of the sync' }),
    h(
      'dl',
      { class: 'facts' },
      [
        ['Done', `${percent} %: ${count(done)} of ${plural(expected, 'request')}`],
        ['Remaining', secondsToGo === null ? 'not known yet' : span(secondsToGo * 1000)],
        ['Rows read', count(rows)],
        ['Sent, including retries', count(requests)],
        ['Waited for the budget', span(waitedMs)],
        ['Left this minute', `${count(budget.left)} of ${count(budget.capacity)}`],
      ].map(([name, value]) =>
        h('div', {}, h('dt', {}, /** @type {string} */ (name)), h('dd', {}, /** @type {string} */ (value))),
      ),
    ),
    open.length > 0 &&
      table(
        'Resources being read',
        [
          'Resource',
          { text: 'Requests', number: true },
          { text: 'Rows', number: true },
          { text: 'Failed', number: true },
        ],
        open.map((/** @type {any} */ one) => [
          one.name,
          `${count(one.done)} of ${count(one.expected)}`,
          count(one.rows),
          one.failed === 0 ? '0' : marked('problem', count(one.failed)),
        ]),
      ),
  );
}

/** @param {any} budget */
function hour({ limit, isDocumented, minutes }) {
  const most = Math.max(limit, ...minutes);
  const sum = minutes.reduce((/** @type {number} */ total, /** @type {number} */ one) => total + one, 0);
  const busiest = Math.max(...minutes);
  const bars = h('div', { class: 'bars', 'aria-hidden': 'true' });
  for (const requests of minutes) {
    const bar = h('span', { class: requests > limit && !isDocumented ? 'over' : null, title: `${count(requests)}` });
    bar.style.height = `${Math.round((100 * requests) / most)}%`;
    bars.append(bar);
  }
  const rule = h('i', { class: 'limit' });
  rule.style.bottom = `${Math.round((100 * limit) / most)}%`;
  bars.append(rule);
  return h(
    'figure',
    { class: 'hour' },
    h(
      'figcaption',
      {},
      h('h3', {}, 'Requests in the last hour'),
      h(
        'p',
        {},
        `${count(sum)} in total, ${count(busiest)} in the busiest minute; ${isDocumented ? 'documented' : 'allowed'}: ${count(limit)} per minute.`,
      ),
    ),
    bars,
    h('p', { class: 'ends', 'aria-hidden': 'true' }, h('span', {}, '60 minutes ago'), h('span', {}, 'now')),
  );
}

/** @type {Record<string, string>} */
const levels = { complete: 'good', running: 'busy', partial: 'attention', interrupted: 'attention', failed: 'problem' };

/**
 * @param {HTMLElement} place
 * @param {any} report
 */
export function showRuns(place, report) {
  const { copy } = report;
  if (copy === null || copy.runs.length === 0) {
    fill(place, copy === null ? empty(report) : h('p', { class: 'quiet' }, 'No runs yet.'));
    return;
  }
  fill(
    place,
    table(
      'Last runs, newest first',
      [
        'Started',
        'Result',
        { text: 'Duration', number: true },
        { text: 'Requests', number: true },
        { text: 'Wasted', number: true },
        { text: 'Inserted', number: true },
        { text: 'Updated', number: true },
        { text: 'Deleted', number: true },
        { text: 'Data', number: true },
      ],
      copy.runs.map((/** @type {any} */ run) => [
        h('span', { title: run.runId }, minute(run.startedAt)),
        [
          h('span', { class: 'marked' }, sign(levels[run.status] ?? 'attention'), run.status),
          run.error !== null && h('div', { class: 'why' }, run.error),
        ],
        run.durationMs === null ? '' : span(run.durationMs),
        run.retries === 0
          ? count(run.requests)
          : `${count(run.requests)} (${plural(run.retries, 'retry').replace('retrys', 'retries')})`,
        count(run.wasted),
        count(run.inserted),
        count(run.updated),
        count(run.deleted),
        size(run.bytes),
      ]),
    ),
    h('p', { class: 'quiet' }, 'A request is wasted when its page changed nothing.'),
  );
}
