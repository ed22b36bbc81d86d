// @ts-check
import { ask } from './client.js';
import { count, fill, h, minute, moment, plural, sign, size, table } from './dom.js';
import { empty, marked } from './overview.js';

const FILES_MAX = 500;

/** @type {Record<string, string>} */
const kinds = {
  unknown_field: 'undeclared field',
  vanished_field: 'field no longer sent',
  changed_type: 'changed type',
  new_value: 'new label',
};

/**
 * @param {HTMLElement} place
 * @param {any} report
 */
export function showDrift(place, report) {
  const { copy } = report;
  if (copy === null) {
    fill(place, empty(report));
    return;
  }
  const { quarantined, drift } = copy.status;
  const fresh = drift.filter((/** @type {any} */ one) => one.isNew).length;
  fill(
    place,
    h(
      'p',
      {},
      drift.length === 0
        ? marked('good', 'Upstream responds as declared.')
        : marked(
            fresh > 0 ? 'attention' : 'good',
            `Upstream differs from the declarations in ${plural(drift.length, 'way')}, ${count(fresh)} of them new.`,
          ),
    ),
    copy.drift.length > 0 &&
      table(
        'Drift, newest first',
        ['Field', 'Change', { text: 'Times', number: true }, 'Last seen', 'Example'],
        copy.drift.map((/** @type {any} */ one) => [
          h('div', { class: 'wrap' }, `${one.resource} ${one.path}`),
          h('div', { class: 'wrap' }, kinds[one.kind] ?? one.kind, one.detail !== null && `: ${one.detail}`),
          count(one.count),
          moment(one.lastSeenAt),
          one.example === null ? '' : h('code', { class: 'example' }, one.example),
        ]),
      ),
    h(
      'p',
      {},
      quarantined === 0
        ? marked('good', 'The quarantine is empty.')
        : marked('attention', `${plural(quarantined, 'item')} in quarantine.`),
    ),
    copy.quarantine.length > 0 &&
      table(
        'Items in quarantine, newest first',
        ['Resource', 'Reason', 'Last seen', 'Item'],
        copy.quarantine.map((/** @type {any} */ one) => [
          one.resource,
          h('div', { class: 'wrap' }, one.reason),
          moment(one.lastSeenAt),
          h('code', { class: 'example' }, one.item),
        ]),
      ),
  );
}

/**
 * @param {HTMLElement} place
 * @param {any} report
 */
export function showSnapshots(place, { snapshots, bytes }) {
  const { newest, all, latest } = snapshots;
  fill(
    place,
    h('p', { class: 'quiet' }, `The warehouse uses ${size(bytes.warehouse)}, the replica ${size(bytes.copy)}.`),
    newest.length === 0
      ? h('p', { class: 'quiet' }, 'No snapshot published yet. Run ', h('code', {}, 'sightline export'), '.')
      : table(
          'Published snapshots, newest first',
          ['Snapshot', 'Created', { text: 'Rows', number: true }, { text: 'Size', number: true }, 'Files'],
          newest.map((/** @type {any} */ one) => [
            [one.id, one.id === latest && h('span', { class: 'tag' }, 'latest')],
            moment(one.createdAt),
            count(one.rows),
            size(one.bytes),
            files(one),
          ]),
        ),
    all > newest.length &&
      h('p', { class: 'quiet' }, `${plural(all - newest.length, 'snapshot')} more are listed at /snapshots.`),
  );
}

/** @param {any} snapshot */
function files({ id, files: amount, manifest }) {
  const list = h('div', { class: 'files' });
  const address = manifest.replace(/^\//, '');
  const open = async () => {
    try {
      const { tables } = await (await ask(address)).json();
      const all = tables.flatMap((/** @type {any} */ one) => one.files);
      const items = all
        .slice(0, FILES_MAX)
        .map((/** @type {any} */ file) =>
          h('li', {}, h('span', { class: 'size' }, size(file.bytes)), link(`snapshots/${id}/${file.path}`, file.path)),
        );
      list.replaceChildren(
        h('ul', {}, h('li', {}, h('span', { class: 'size' }), link(address, 'manifest.json')), items),
      );
      if (all.length > FILES_MAX)
        list.append(h('p', {}, `${plural(all.length - FILES_MAX, 'file')} more are in the manifest.`));
    } catch (thrown) {
      list.replaceChildren(h('p', { class: 'error' }, /** @type {Error} */ (thrown).message));
    }
  };
  return h(
    'details',
    {
      'data-id': `files-${id}`,
      ontoggle: (/** @type {Event} */ event) => {
        if (/** @type {HTMLDetailsElement} */ (event.target).open && list.childElementCount === 0) void open();
      },
    },
    h('summary', { 'data-id': `files-${id}-summary` }, plural(amount, 'file')),
    list,
  );
}

/**
 * @param {string} address
 * @param {string} path
 */
function link(address, path) {
  return h('a', { href: address, download: true, 'data-file': path.replaceAll('/', '-') }, path);
}

/** @type {Record<string, string>} */
const levels = { done: 'good', partial: 'attention', locked: 'attention', interrupted: 'attention', failed: 'problem' };

/**
 * @param {HTMLElement} place
 * @param {any} report
 */
export function showJobs(place, { jobs, runsJobs }) {
  fill(
    place,
    h(
      'p',
      { class: 'quiet' },
      runsJobs
        ? 'This server runs the jobs when they are due.'
        : 'This server does not run jobs; cron, systemd or another process must run them.',
    ),
    jobs.length > 0 &&
      table(
        'Jobs',
        ['Job', 'Steps', 'When', 'Next', 'Last run'],
        jobs.map((/** @type {any} */ job) => [
          h('span', { title: job.about }, job.name),
          job.steps.join(', '),
          h('code', {}, `${job.cron}${job.timeZone === 'UTC' ? '' : ` ${job.timeZone}`}`),
          job.enabled ? moment(job.next) : 'turned off',
          job.last === null
            ? 'never'
            : [
                h('span', { class: 'marked' }, sign(levels[job.last.status] ?? 'attention'), job.last.status),
                ' ',
                moment(job.last.startedAt),
                job.last.error !== null && h('div', { class: 'why' }, job.last.error),
              ],
        ]),
      ),
  );
}

/**
 * @param {HTMLElement} place
 * @param {any} report
 */
export function showKeys(place, { keys, now }) {
  if (keys === null) {
    fill(place, h('p', {}, marked('problem', 'The key file is damaged: all API keys are rejected.')));
    return;
  }
  fill(
    place,
    keys.length === 0
      ? h('p', { class: 'quiet' }, 'No keys yet. Run ', h('code', {}, 'sightline keys create NAME'), '.')
      : table(
          'Keys of this server',
          ['Name', 'Begins with', 'Created', 'Last used', 'Expires'],
          keys.map((/** @type {any} */ one) => [
            one.name,
            h('code', {}, `${one.prefix}…`),
            minute(one.createdAt).slice(0, 10),
            moment(one.lastUsedAt, 'not since the server started'),
            one.expiresAt === null
              ? 'never'
              : one.expiresAt <= now
                ? marked('problem', 'expired')
                : moment(one.expiresAt),
          ]),
        ),
  );
}
