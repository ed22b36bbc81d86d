// @ts-check

import { showCalendar } from './calendar.js';
import { showCharts } from './charts.js';
import { ask, askJson, key, listen } from './client.js';
import { fill, h, minute, moment, renewMoments, setClock } from './dom.js';
import { showDrift, showJobs, showKeys, showSnapshots } from './lists.js';
import { showFreshness, showOverview } from './overview.js';
import { showRuns, showSync } from './sync.js';

const RENEW_MS = 15_000;
const AGAIN_MS = 5_000;

/** @param {string} id */
const at = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** @type {readonly { id: string, title: string, show: (place: HTMLElement, report: any) => void }[]} */
const sections = [
  { id: 'overview', title: 'Status', show: showOverview },
  { id: 'freshness', title: 'Freshness', show: showFreshness },
  { id: 'days', title: 'Days', show: showCalendar },
  { id: 'sync', title: 'Sync and budget', show: showSync },
  { id: 'runs', title: 'Runs', show: showRuns },
  { id: 'changes', title: 'Drift and quarantine', show: showDrift },
  { id: 'snapshots', title: 'Snapshots', show: showSnapshots },
  { id: 'jobs', title: 'Jobs', show: showJobs },
  { id: 'keys', title: 'Keys', show: showKeys },
  { id: 'charts', title: 'Charts', show: showCharts },
];

/** @type {{ report: any, stop: (() => void) | null, headline: string | null, asked: number }} */
const state = { report: null, stop: null, headline: null, asked: 0 };

function createSections() {
  const report = at('report');
  for (const { id, title } of sections) {
    const place = h('div', { class: 'content', id: `${id}-content` });
    report.append(
      h(
        'section',
        { id, class: 'panel', 'aria-labelledby': `${id}-title` },
        h('h2', { id: `${id}-title`, class: id === 'overview' && 'hidden-text' }, title),
        place,
      ),
    );
  }
  at('contents').append(
    h(
      'ul',
      {},
      sections.slice(1).map(({ id, title }) => h('li', {}, h('a', { href: `#${id}` }, title))),
    ),
  );
}

/** @param {any} report */
function show(report) {
  const { workspace, findings, version } = report;
  // The server was replaced by another version with its own page.
  if (state.report !== null && state.report.version !== version) location.reload();
  state.report = report;
  setClock(report.now);
  at('workspace').textContent = workspace === 'default' ? '' : workspace;
  document.title =
    `${findings[0].level === 'good' ? '' : `${findings[0].sentence} `}sightline ${workspace === 'default' ? '' : workspace}`.trim();
  at('report').hidden = false;
  at('contents').hidden = false;
  if (!at('door').hidden) at('main').focus();
  at('door').hidden = true;
  at('forget').hidden = key.get() === null;
  for (const { id, show: draw } of sections) draw(at(`${id}-content`), report);
  fill(at('foot'), `sightline ${version}, as of `, h('time', { datetime: report.now }, minute(report.now)));
  if (state.headline !== null && state.headline !== findings[0].sentence) announce(findings[0].sentence);
  state.headline = findings[0].sentence;
}

/** @param {string} text */
function announce(text) {
  at('announcer').textContent = text;
}

async function renew() {
  state.asked += 1;
  const { asked } = state;
  const report = await askJson('status/data');
  // A later request may have been completed first.
  if (asked !== state.asked) return;
  show(report);
  showConnection('live', 'live');
  at('banner').hidden = true;
}

/** Requests the report again, and retries if it fails. */
async function catchUp() {
  const { stop } = state;
  try {
    await renew();
  } catch (thrown) {
    if (stop !== state.stop) return;
    const trouble = /** @type {import('./client.js').Trouble} */ (thrown);
    if (trouble.status === 401) {
      showKeyForm(trouble.message);
      return;
    }
    showConnectionLost(trouble.status === 0 ? 'The server cannot be reached.' : trouble.message);
    setTimeout(() => stop === state.stop && void catchUp(), AGAIN_MS);
  }
}

/**
 * @param {'waiting' | 'live' | 'lost'} how
 * @param {string} text
 */
function showConnection(how, text) {
  at('live').dataset['state'] = how;
  at('live-text').textContent = text;
}

function begin() {
  showConnection('waiting', 'connecting');
  state.stop?.();
  state.stop = listen({
    onOpen: renew,
    onEvent: (event, data) => {
      if (event === 'refused') showKeyForm('This key was revoked or has expired.');
      else if (event === 'progress') {
        const hadOne = state.report?.progress != null;
        state.report = { ...state.report, progress: data };
        // When a sync begins or ends, more than its progress changes.
        if (data === null || !hadOne) void catchUp();
        else showProgress();
      } else if (event === 'changed') void catchUp();
    },
    onTrouble: (trouble) => {
      if (trouble.status === 401) showKeyForm(trouble.message);
      else showConnectionLost(trouble.status === 0 ? 'The server cannot be reached.' : trouble.message);
    },
  });
}

function showProgress() {
  const { report } = state;
  showOverview(at('overview-content'), report);
  showSync(at('sync-content'), report);
}

/** @param {string} why */
function showConnectionLost(why) {
  showConnection('lost', 'not connected');
  const since =
    state.report === null ? [] : [' Shown data: ', moment(state.report.now), ' (', minute(state.report.now), ').'];
  const banner = at('banner');
  const text = `${why} Retrying automatically.`;
  // Announce only once, not with every retry.
  if (banner.hidden || banner.dataset['why'] !== why) fill(banner, text, ...since);
  banner.dataset['why'] = why;
  banner.hidden = false;
}

/** @param {string | null} why */
function showKeyForm(why) {
  state.stop?.();
  state.stop = null;
  // Ignore the responses of requests sent with the old key.
  state.asked += 1;
  key.forget();
  state.report = null;
  state.headline = null;
  at('report').hidden = true;
  at('contents').hidden = true;
  at('forget').hidden = true;
  at('banner').hidden = true;
  at('door').hidden = false;
  at('foot').textContent = '';
  at('workspace').textContent = '';
  document.title = 'sightline';
  for (const { id } of sections) at(`${id}-content`).replaceChildren();
  showConnection('waiting', 'waiting for a key');
  at('key-error').textContent = why ?? '';
  at('key').setAttribute('aria-invalid', String(why !== null));
  /** @type {HTMLInputElement} */ (at('key')).value = '';
  at('key').focus();
}

async function enter() {
  for (;;) {
    try {
      const { allowed, why } = await askJson('status/access');
      if (allowed) begin();
      else showKeyForm(why);
      return;
    } catch (thrown) {
      const { status, message } = /** @type {import('./client.js').Trouble} */ (thrown);
      if (status === 429) return showKeyForm(message);
      showConnectionLost(status === 0 ? 'The server cannot be reached.' : message);
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    }
  }
}

at('key-form').addEventListener('submit', (event) => {
  event.preventDefault();
  const text = /** @type {HTMLInputElement} */ (at('key')).value.trim();
  if (!/^[\x21-\x7e]+$/.test(text)) {
    at('key-error').textContent = 'A key begins with gsk_ and has no spaces.';
    return;
  }
  key.set(text);
  void enter();
});
at('forget').addEventListener('click', () => showKeyForm(null));
document.addEventListener('click', (event) => {
  const link = event.target instanceof Element ? event.target.closest('a[data-file]') : null;
  if (link instanceof HTMLAnchorElement && key.get() !== null) {
    event.preventDefault();
    void download(link);
  }
});

// Links cannot send a key, so fetch the file.
/** @param {HTMLAnchorElement} link */
async function download(link) {
  link.setAttribute('aria-busy', 'true');
  try {
    const blob = await (await ask(/** @type {string} */ (link.getAttribute('href')))).blob();
    const url = URL.createObjectURL(blob);
    h('a', { href: url, download: link.dataset['file'] }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
  } catch (thrown) {
    link.after(h('span', { class: 'error', role: 'alert' }, ` ${/** @type {Error} */ (thrown).message}`));
  } finally {
    link.removeAttribute('aria-busy');
  }
}

createSections();
setInterval(renewMoments, RENEW_MS);
void enter();
