import { suggestion } from '../base/choose-name.ts';
import { expandDates } from '../base/date-template.ts';
import { SightlineError, toSightlineError } from '../base/errors.ts';
import { isRecord } from '../base/json.ts';
import { FILE_FORMATS } from '../snapshot/file-formats.ts';
import { CRON_ALLOWED, type Cron, parseCron } from './cron-pattern.ts';
import { COMPARE_REQUESTS, type Job, STEP_KINDS, type Step, type StepAllowance } from './job.ts';
import { isTimeZone } from './zone.ts';

const FIELDS = ['about', 'cron', 'timeZone', 'enabled', 'steps', 'allowance', 'catchUp'];
const ALLOWANCE_FIELDS = ['maxRequests', 'maxMinutes'];
const NAME = /^[a-z0-9][a-z0-9-]{0,63}$/;
const KINDS = Object.keys(STEP_KINDS) as Step['do'][];

/**
 * Returns the declared jobs as changed by the settings, then the jobs that only the settings define. `resources` are
 * the names allowed in `only`.
 * @throws `config_invalid` with the setting, its value and the allowed values
 */
export function toJobs(
  declared: readonly Job[],
  settings: Readonly<Record<string, unknown>>,
  resources: readonly string[],
): Job[] {
  const changed = declared.map((job) =>
    Object.hasOwn(settings, job.name) ? changeJob(job.name, settings[job.name], job, resources) : job,
  );
  const added = Object.entries(settings)
    .filter(([name]) => !declared.some((job) => job.name === name))
    .map(([name, value]) => changeJob(name, value, null, resources));
  return [...changed, ...added];
}

function changeJob(name: string, given: unknown, job: Job | null, resources: readonly string[]): Job {
  if (!NAME.test(name))
    throw refuse('jobs', `has the name ${show(name)}`, 'lower-case letters, digits and -, at most 64');
  const at = `jobs.${name}`;
  const value = record(at, given, FIELDS);
  for (const field of job === null ? ['cron', 'steps'] : []) {
    if (value[field] === undefined) throw refuse(`${at}.${field}`, 'is not set', allowedOf(field));
  }
  const read = <T>(field: string, check: (path: string, value: unknown) => T, other: T): T =>
    value[field] === undefined ? other : check(`${at}.${field}`, value[field]);
  const steps = read('steps', (path, list) => toSteps(path, list, resources), job?.steps ?? []);
  const allowance = read<StepAllowance | null>('allowance', toAllowance, null);
  return {
    name,
    about: read('about', toText, job?.about ?? 'A job defined in the configuration.'),
    cron: read('cron', toCron, job?.cron as Cron),
    timeZone: read('timeZone', toTimeZone, job?.timeZone ?? 'UTC'),
    enabled: read('enabled', toBoolean, true),
    catchUp: read('catchUp', toBoolean, job?.catchUp ?? true),
    steps: allowance === null ? steps : steps.map((step) => (step.do === 'sync' ? { ...step, allowance } : step)),
  };
}

function toSteps(path: string, value: unknown, resources: readonly string[]): Step[] {
  if (!Array.isArray(value) || value.length === 0) throw refuse(path, `is ${show(value)}`, allowedOf('steps'));
  return value.map((step: unknown, index) => toStep(`${path}.${index}`, step, resources));
}

// A step without settings may be written as its name alone.
function toStep(path: string, given: unknown, resources: readonly string[]): Step {
  const value = typeof given === 'string' ? { do: given } : given;
  const kind = isRecord(value) ? KINDS.find((name) => name === value['do']) : undefined;
  if (!isRecord(value) || kind === undefined) {
    const [where, what] = isRecord(given) ? [`${path}.do`, given['do']] : [path, given];
    throw refuse(where, what === undefined ? 'is not set' : `is ${show(what)}`, KINDS.join(', '));
  }
  const step: Record<string, unknown> = { do: kind };
  for (const [field, setting] of Object.entries(record(path, value, ['do', 'onFailure', ...STEP_KINDS[kind]]))) {
    if (field !== 'do') step[field] = toStepSetting(`${path}.${field}`, field, setting, resources);
  }
  const files = kind === 'export' && step['output'] === undefined ? STEP_KINDS.export.filter((one) => one in step) : [];
  if (files.length > 0) throw refuse(`${path}.output`, 'is not set', `a folder, because ${files[0]} applies to files`);
  if (step['name'] !== undefined && step['since'] === undefined) {
    throw refuse(`${path}.since`, 'is not set', '"last", because name applies to its position');
  }
  return step as unknown as Step;
}

function toStepSetting(path: string, field: string, value: unknown, resources: readonly string[]): unknown {
  switch (field) {
    case 'only': {
      const unknown = Array.isArray(value) ? value.find((name) => !resources.includes(String(name))) : undefined;
      if (Array.isArray(value) && value.length > 0 && unknown === undefined) return value;
      const meant = suggestion(String(unknown ?? ''), resources);
      throw refuse(path, `is ${show(value)}`, `a list of ${resources.join(', ')}${meant}`);
    }
    case 'allowance':
      return toAllowance(path, value);
    case 'onFailure':
      if (value !== 'stop' && value !== 'go on') throw refuse(path, `is ${show(value)}`, '"stop" or "go on"');
      return value;
    case 'output':
      return toTemplate(path, value);
    case 'name':
      return toText(path, value);
    case 'format':
      if (typeof value === 'string' && Object.hasOwn(FILE_FORMATS, value)) return value;
      throw refuse(path, `is ${show(value)}`, Object.keys(FILE_FORMATS).join(', '));
    case 'since':
      if (value !== 'last') throw refuse(path, `is ${show(value)}`, '"last"');
      return value;
    case 'tables':
      if (Array.isArray(value) && value.length > 0 && value.every((name) => typeof name === 'string')) return value;
      throw refuse(path, `is ${show(value)}`, 'a list of tables, such as ["responses"]');
    case 'destinations':
      if (Array.isArray(value) && value.length > 0 && value.every((name) => typeof name === 'string')) return value;
      throw refuse(path, `is ${show(value)}`, 'a list of names in the setting destinations');
    case 'requests':
      return toWholeNumber(path, value, COMPARE_REQUESTS.max);
    case 'weeks':
      return toWholeNumber(path, value, 260);
    default:
      return toBoolean(path, value);
  }
}

function toTemplate(path: string, value: unknown): string {
  const text = toText(path, value);
  try {
    expandDates(path, text, 0);
    return text;
  } catch (thrown) {
    throw new SightlineError('config_invalid', toSightlineError(thrown).message);
  }
}

function toAllowance(path: string, given: unknown): StepAllowance {
  const value = record(path, given, ALLOWANCE_FIELDS);
  const fields = Object.entries(value);
  if (fields.length === 0) throw refuse(path, 'is empty', allowedOf('allowance'));
  return Object.fromEntries(
    fields.map(([field, number]) => [
      field,
      toWholeNumber(`${path}.${field}`, number, field === 'maxRequests' ? 1_000_000_000 : 1_000_000),
    ]),
  );
}

function toCron(path: string, value: unknown): Cron {
  const cron = typeof value === 'string' ? parseCron(value) : 'it is not a string';
  if (typeof cron === 'string') throw refuse(path, `is ${show(value)} (${cron})`, allowedOf('cron'));
  return cron;
}

function toTimeZone(path: string, value: unknown): string {
  if (typeof value !== 'string' || !isTimeZone(value)) throw refuse(path, `is ${show(value)}`, allowedOf('timeZone'));
  return value;
}

function toBoolean(path: string, value: unknown): boolean {
  if (typeof value !== 'boolean') throw refuse(path, `is ${show(value)}`, 'true or false');
  return value;
}

function toText(path: string, value: unknown): string {
  if (typeof value !== 'string' || value === '') throw refuse(path, `is ${show(value)}`, 'a text that is not empty');
  return value;
}

function toWholeNumber(path: string, value: unknown, most: number): number {
  if (Number.isInteger(value) && Number(value) >= 1 && Number(value) <= most) return Number(value);
  throw refuse(path, `is ${show(value)}`, `a whole number from 1 to ${most}`);
}

function record(path: string, value: unknown, fields: readonly string[]): Record<string, unknown> {
  if (!isRecord(value)) throw refuse(path, `is ${show(value)}`, `an object with the members ${fields.join(', ')}`);
  const unknown = Object.keys(value).find((name) => !fields.includes(name));
  if (unknown !== undefined) {
    throw refuse(path, `has an unknown setting ${show(unknown)}`, `${fields.join(', ')}${suggestion(unknown, fields)}`);
  }
  return value;
}

function allowedOf(field: string): string {
  if (field === 'cron') return CRON_ALLOWED;
  if (field === 'timeZone') return 'a name of the IANA time zone database, such as UTC or Europe/Berlin';
  if (field === 'allowance') return `an object with ${ALLOWANCE_FIELDS.join(' or ')}`;
  return `a list of steps, each one of ${KINDS.join(', ')}, or an object with one of them as "do"`;
}

function refuse(path: string, what: string, allowed: string): SightlineError {
  return new SightlineError('config_invalid', `${path} ${what}; allowed: ${allowed}`);
}

function show(value: unknown): string {
  return JSON.stringify(value) ?? 'not set';
}
