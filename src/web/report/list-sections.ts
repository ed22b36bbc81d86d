import type { BrandReport } from './brand-report.ts';
import { dayText } from './dates.ts';
import { link, note, section, table } from './html.ts';
import type { Listed } from './report-lists.ts';
import { counted, size, unbroken } from './shown-values.ts';

/** Actions named in a row of a plan. */
const ACTIONS_MAX = 3;

/** Returns the sections of alerts, forum threads, action plans and articles; a list without rows says so in a sentence. */
export function listSections(report: BrandReport): string {
  return [
    section('Alerts', alerts(report)),
    section('Action plans', plans(report)),
    section('Forum threads to answer', opportunities(report)),
    section('Articles', articles(report)),
  ].join('\n');
}

function alerts({ alerts: list }: BrandReport): string {
  if (list.all === 0) return note('The service has raised no alerts.');
  const show = (value: number | null): string => (value === null ? '–' : String(value));
  const rows = list.rows.map((one) => [
    unbroken(dayText(one.day)),
    one.type,
    one.detail === '' ? one.headline : `${one.headline}: ${one.detail}`,
    one.previous === null && one.current === null ? '' : `${show(one.previous)} to ${show(one.current)}`,
  ]);
  const about = `${latest(list, 'alerts')} Raised by the service, which reports neither sample sizes nor intervals.`;
  return note(about) + table(['Day', 'Type', 'Alert', 'Reported change'], rows);
}

function plans({ plans: list }: BrandReport): string {
  if (list.all === 0) return note('Competitors won no responses in the last 14 days.');
  const rows = list.rows.map(({ prompt, lost, winners, actions, open }) => [
    prompt,
    counted(lost),
    winners.slice(0, ACTIONS_MAX).join(', '),
    actions === 0 ? 'no plan yet: generate it in the app' : openActions(open, actions),
  ]);
  const most =
    list.all > list.rows.length ? `The ${list.rows.length} of ${size(list.all)} prompts with the most r` : 'R';
  const about = `${most}esponses of the last 14 days that mention competitors and not the brand.`;
  return note(about) + table(['Prompt', 'Won by competitors', 'Competitors', 'Open actions'], rows);
}

function openActions(open: readonly string[], actions: number): string {
  if (open.length === 0) return `all ${actions} done`;
  const more = open.length > ACTIONS_MAX ? ' …' : '';
  return `${open.length} of ${actions}: ${open.slice(0, ACTIONS_MAX).join('; ')}${more}`;
}

function opportunities({ opportunities: list }: BrandReport): string {
  if (list.all === 0) return note('No open threads.');
  const kinds: Readonly<Record<string, string>> = { ai: 'cited by AI', outreach: 'could join' };
  const rows = list.rows.map((one) => [
    link(one.title, one.url),
    one.subforum,
    kinds[one.type] ?? one.type,
    one.status,
    one.comments === null ? '' : size(one.comments),
    one.promotionPolicy === '' ? 'rules not read yet' : one.promotionPolicy,
  ]);
  const about = latest(list, 'threads that are neither dismissed nor posted to');
  return note(about) + table(['Thread', 'Community', 'Kind', 'Status', 'Comments', 'Promotion'], rows);
}

function articles({ articles: list }: BrandReport): string {
  if (list.all === 0) return note('No articles.');
  const rows = list.rows.map((one) => [
    one.title === '' ? 'untitled' : one.title,
    one.status,
    one.words === null ? '' : size(one.words),
    one.created === null ? '' : unbroken(dayText(one.created)),
    one.completed === null ? '' : unbroken(dayText(one.completed)),
  ]);
  return (
    note(latest(list, 'articles of this brand')) + table(['Article', 'Status', 'Words', 'Created', 'Completed'], rows)
  );
}

// Empty if all rows are shown.
function latest({ all, rows }: Listed<unknown>, what: string): string {
  return all > rows.length ? `The latest ${rows.length} of ${size(all)} ${what}.` : '';
}
