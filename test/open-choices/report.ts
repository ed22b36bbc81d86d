import { parseArgs } from 'node:util';
import {
  CHOICE_NAMES,
  type Choices,
  combinationBits,
  defaultChoices,
  describeChoices,
  OPTIONS,
  randomChoices,
  randomReportChoices,
} from './choices.ts';
import { countDiffering, type ExamResult, examine, type Finding } from './exam.ts';
import { toPath } from './questions.ts';

/**
 * Prints which choices lead to which differences:
 * `node test/support/run-typescript.mjs test/open-choices/report.ts --choices 20 --seed 1`.
 * `--reports` draws only choices about reports, `--single` changes one choice at a time instead, `--set name=value,...` fixes choices, and `--first` starts from the first values.
 */
const { values } = parseArgs({
  args: process.argv.slice(3),
  options: {
    choices: { type: 'string', default: '20' },
    seed: { type: 'string', default: '1' },
    questions: { type: 'string', default: '120' },
    probes: { type: 'string', default: '20' },
    examples: { type: 'string', default: '1' },
    single: { type: 'boolean', default: false },
    reports: { type: 'boolean', default: false },
    first: { type: 'boolean', default: false },
    points: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    set: { type: 'string', default: '' },
  },
});

const seed = Number(values.seed);

interface Combination {
  readonly title: string;
  readonly choices: Choices;
  readonly seed: number;
}

function combinations(): Combination[] {
  const fixed = Object.fromEntries(
    values.set
      .split(',')
      .filter(Boolean)
      .map((text) => text.split('=')),
  );
  const parse = (choices: Choices): Choices => ({ ...choices, ...typed(fixed) });
  if (values.first) return [{ title: 'first values', choices: parse(defaultChoices()), seed }];
  if (!values.single) {
    return Array.from({ length: Number(values.choices) }, (_, index) => {
      const draw = values.reports ? randomReportChoices : randomChoices;
      const choices = parse(draw(seed + index));
      return { title: `seed ${seed + index}`, choices, seed: seed + index };
    });
  }
  const names = CHOICE_NAMES.filter((name) => values.only === '' || values.only.split(',').includes(name));
  return names.flatMap((name) =>
    OPTIONS[name].slice(1).map((value) => {
      const choices = { ...parse(defaultChoices()), [name]: value };
      return { title: `${name}=${value}`, choices, seed };
    }),
  );
}

// Command lines have only texts; some values are numbers.
function typed(texts: Record<string, string | undefined>): Partial<Choices> {
  const entries = CHOICE_NAMES.filter((name) => texts[name] !== undefined).map((name) => {
    const value = OPTIONS[name].find((each) => String(each) === texts[name]);
    if (value === undefined) throw new Error(`${name} is ${texts[name]}; allowed: ${OPTIONS[name].join(', ')}`);
    return [name, value];
  });
  return Object.fromEntries(entries);
}

function keyOf({ question, field }: Finding): string {
  return `${question.endpoint.replace('/brands/{brandId}', '')} ${field}`;
}

function describe({ title }: Combination, result: ExamResult, seconds: number): string {
  const differing = countDiffering(result);
  const open = result.points.filter(({ state }) => state === 'undetermined' || state === 'contradicted');
  const lines = [
    `${title}: ${result.asked - differing}/${result.asked} equal, ${result.requests.length} requests, ${seconds.toFixed(1)} s of CPU, ${result.syncStatus}`,
  ];
  for (const [key, findings] of groupBy(result.findings, keyOf)) {
    const asked = new Set(findings.map(({ question }) => question)).size;
    lines.push(`  ${key}: ${asked} questions`);
    for (const { question, expected, served } of findings.slice(0, Number(values.examples))) {
      lines.push(`    ${toPath(question)}`, `      expected ${short(expected)}`, `      served   ${short(served)}`);
    }
  }
  if (values.points) {
    lines.push(...result.requests.slice(-Number(values.probes)).map((path) => `  asked ${path}`));
    for (const { name, state, text, compared, agreed, candidates } of result.points) {
      const tried = candidates.map((each) => `${JSON.stringify(each.value)} ${each.agreed}`).join(', ');
      lines.push(`  ${name}: ${state}, ${text}, ${agreed} of ${compared}; ${tried}`.slice(0, 400));
    }
  }
  if (differing > 0) lines.push(`  open points: ${open.map(({ name, state }) => `${name} (${state})`).join(', ')}`);
  return lines.join('\n');
}

function groupBy<T>(items: readonly T[], key: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) groups.set(key(item), [...(groups.get(key(item)) ?? []), item]);
  return groups;
}

function short(value: unknown): string {
  return JSON.stringify(value)?.slice(0, 300) ?? 'nothing';
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

print(`2^${combinationBits().toFixed(0)} combinations`);
const totals = { asked: 0, differing: 0 };
const byField = new Map<string, string[]>();
for (const combination of combinations()) {
  const { choices, title } = combination;
  const before = process.cpuUsage();
  try {
    const result = await examine({
      choices,
      seed: combination.seed,
      questions: Number(values.questions),
      probes: Number(values.probes),
    });
    const { user, system } = process.cpuUsage(before);
    if (!values.single) print(describeChoices(choices));
    print(describe(combination, result, (user + system) / 1e6));
    totals.asked += result.asked;
    totals.differing += countDiffering(result);
    for (const key of new Set(result.findings.map(keyOf))) byField.set(key, [...(byField.get(key) ?? []), title]);
  } catch (thrown) {
    print(`${title}: ${thrown instanceof Error ? thrown.stack : String(thrown)}`);
  }
}
print(`\n${totals.asked - totals.differing} of ${totals.asked} equal`);
for (const [key, titles] of [...byField].sort((a, b) => b[1].length - a[1].length)) {
  print(`  ${key}: ${titles.length} combinations: ${titles.slice(0, 12).join('; ')}`);
}
