import { z } from 'zod';
import { suggestion } from '../base/choose-name.ts';
import { describeIssue } from '../base/config/setting-schema.ts';
import { SightlineError } from '../base/errors.ts';
import { isRecord } from '../base/json.ts';
import { CRON_ALLOWED, type Cron, parseCron } from './cron-pattern.ts';
import { type Job, type Step, stepAllowance, stepKinds } from './job.ts';
import { isTimeZone } from './zone.ts';

const NAME = /^[a-z0-9][a-z0-9-]{0,63}$/;
const KINDS = Object.keys(stepKinds) as Step['do'][];

const cron = z.string().superRefine((text, context) => {
  const parsed = parseCron(text);
  if (typeof parsed !== 'string') return;
  const message = `is ${JSON.stringify(text)} (${parsed}); allowed: ${CRON_ALLOWED}`;
  context.addIssue({ code: 'custom', message });
});
// Steps are read by their kind.
const required = {
  cron: cron.describe(CRON_ALLOWED),
  steps: z
    .array(z.unknown())
    .min(1)
    .describe(`a list of steps, each one of ${KINDS.join(', ')}, or an object with one of them as "do"`),
};
/** Settings of a declared job. */
const changes = z
  .strictObject({
    ...required,
    about: z.string().min(1).describe('a text that is not empty'),
    timeZone: z
      .string()
      .refine(isTimeZone)
      .describe('a name of the IANA time zone database, such as UTC or Europe/Berlin'),
    enabled: z.boolean(),
    catchUp: z.boolean(),
    allowance: stepAllowance.strict(),
  })
  .partial();
/** Settings of a job that is not declared. */
const additions = changes.extend(required);

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
    throw refuse('jobs', `has the name ${JSON.stringify(name)}`, 'lower-case letters, digits and -, at most 64');
  const at = `jobs.${name}`;
  const { allowance, ...value } = parse(at, job === null ? additions : changes, given);
  checkAllowance(`${at}.allowance`, allowance);
  const steps = value.steps?.map((step, index) => toStep(`${at}.steps.${index}`, step, resources)) ?? job?.steps ?? [];
  return {
    name,
    about: value.about ?? job?.about ?? 'A job defined in the configuration.',
    cron: value.cron === undefined ? (job?.cron as Cron) : (parseCron(value.cron) as Cron),
    timeZone: value.timeZone ?? job?.timeZone ?? 'UTC',
    enabled: value.enabled ?? true,
    catchUp: value.catchUp ?? job?.catchUp ?? true,
    steps: allowance === undefined ? steps : steps.map((step) => (step.do === 'sync' ? { ...step, allowance } : step)),
  };
}

// A step without settings may be written as its name alone.
function toStep(path: string, given: unknown, resources: readonly string[]): Step {
  const value = typeof given === 'string' ? { do: given } : given;
  const kind = isRecord(value) ? KINDS.find((name) => name === value['do']) : undefined;
  if (kind === undefined) {
    const [where, what] = isRecord(given) ? [`${path}.do`, given['do']] : [path, given];
    throw refuse(where, what === undefined ? 'is not set' : `is ${JSON.stringify(what)}`, KINDS.join(', '));
  }
  const step = parse(path, (stepKinds[kind] as z.ZodObject).strict(), value) as Step;
  if (step.do === 'sync') {
    checkAllowance(`${path}.allowance`, (value as Record<string, unknown>)['allowance']);
    const unknown = step.only?.find((name) => !resources.includes(name));
    if (unknown !== undefined) {
      const allowed = `a list of ${resources.join(', ')}${suggestion(unknown, resources)}`;
      throw refuse(`${path}.only`, `is ${JSON.stringify(step.only)}`, allowed);
    }
  }
  if (step.do === 'export') {
    const [setting] = Object.keys(step).filter((name) => name in stepKinds.export.shape && !OF_ALL.includes(name));
    if (setting !== undefined && step.output === undefined)
      throw refuse(`${path}.output`, 'is not set', `a folder, because ${setting} applies to files`);
    if (step.name !== undefined && step.since === undefined)
      throw refuse(`${path}.since`, 'is not set', '"last", because name applies to its position');
  }
  return step;
}

/** Members of all steps. */
const OF_ALL = ['do', 'onFailure'];

// The members of a step are strict, but not the members of its allowance.
function checkAllowance(path: string, given: unknown): void {
  if (given === undefined || Object.keys(parse(path, stepAllowance.strict(), given)).length > 0) return;
  throw refuse(path, 'is empty', `an object with ${Object.keys(stepAllowance.shape).join(' or ')}`);
}

function parse<S extends z.ZodType>(path: string, schema: S, given: unknown): z.infer<S> {
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues as [z.core.$ZodIssue];
  const isOwnText = issue.code === 'custom' && issue.message !== 'Invalid input';
  const problem = isOwnText
    ? `${[path, ...issue.path].join('.')} ${issue.message}`
    : describeIssue(schema, issue, given, path);
  throw new SightlineError('config_invalid', problem);
}

function refuse(path: string, what: string, allowed: string): SightlineError {
  return new SightlineError('config_invalid', `${path} ${what}; allowed: ${allowed}`);
}
