import { z } from 'zod';
import { describedMeasure, describedModel } from '../../analytics/model/measures.ts';
import { error, type ValueOf } from '../../contract/operation/json-parts.ts';
import { toJsonSchema } from '../../contract/operation/operation.ts';
import { dimensionValues } from '../../query/metrics/dimension-values.ts';
import { explainMetric, listChanges, listOpportunities } from '../../query/metrics/explanations.ts';
import { runMetrics } from '../../query/metrics/run-metrics.ts';
import * as files from './files-json.ts';
import * as operation from './operation-json.ts';
import * as server from './server-json.ts';
import * as sync from './sync-json.ts';

/** Declaration of the output of a command with `--json`. */
interface JsonOutput {
  /** Command line that prints it, as a sentence; default: the name. */
  readonly about?: string;
  readonly shape: z.ZodType;
}

/**
 * The JSON outputs of all commands, by name: the command, and the flag or argument that selects another output. Members are
 * only added, never renamed or removed.
 */
export const jsonOutputs = {
  error: { about: 'Every command that fails.', shape: error },
  sync: { shape: sync.sync },
  'sync --all': { about: '`sync --all`: one line for each workspace.', shape: sync.syncOfWorkspace },
  plan: { shape: sync.plan },
  verify: { shape: sync.verify },
  compare: { shape: sync.compare },
  calibration: { shape: sync.calibration },
  status: { shape: operation.status },
  'status --all': { about: '`status --all`: one line for each workspace.', shape: operation.statusOfWorkspace },
  endpoints: { shape: sync.endpoints },
  runs: { shape: sync.runs },
  'runs id': { about: '`runs` with the ID of a run.', shape: sync.run },
  'state list': { shape: sync.stateList },
  'state reset': { shape: sync.stateReset },
  replay: { shape: sync.replay },
  export: { about: '`export`, which writes a snapshot.', shape: files.snapshot },
  'export --output': { about: '`export --output FOLDER`, which writes plain files.', shape: files.plainFiles },
  'export --all': { about: '`export --all`: one line for each workspace.', shape: files.exportOfWorkspace },
  sql: { about: '`sql`: an array with an object for each row.', shape: files.rows },
  connect: { shape: files.connect },
  describe: { shape: files.allTables },
  'describe table': { about: '`describe` with a table.', shape: files.table },
  'metrics list': { shape: describedModel },
  'metrics describe': { shape: describedMeasure },
  'metrics values': { shape: dimensionValues.output },
  'metrics query': { shape: runMetrics.output },
  'metrics export': { shape: files.metricsExport },
  explain: { shape: explainMetric.output },
  changes: { shape: listChanges.output },
  opportunities: { shape: listOpportunities.output },
  report: { shape: files.report },
  serve: { about: '`serve`, once it listens.', shape: server.serve },
  'serve --role api': { about: '`serve --role api`, once it listens.', shape: server.serveApi },
  'jobs list': { about: '`jobs` and `jobs list`.', shape: operation.jobsList },
  'jobs next': { shape: operation.jobsNext },
  'jobs run': { shape: operation.jobsRun },
  worker: { about: '`worker`, when it ends.', shape: server.worker },
  'cluster status': { shape: server.clusterStatus },
  'cluster enqueue': { shape: server.clusterEnqueue },
  doctor: { about: '`doctor`; with `--all` one line for each workspace.', shape: operation.doctor },
  backup: { shape: files.backup },
  notify: { shape: operation.notify },
  'notify --test': { shape: operation.notifyTest },
  restore: { shape: files.restore },
  'keys create': { shape: server.newKey },
  'keys list': { shape: server.keys },
  'keys revoke': { shape: server.key },
  open: { shape: server.open },
  'sessions list': { shape: server.sessions },
  'sessions revoke': { shape: server.endedSession },
  init: { shape: server.init },
  sandbox: { about: '`sandbox`, once it listens.', shape: server.sandbox },
  demo: { shape: files.demo },
} as const satisfies Record<string, JsonOutput>;

/** Name of a JSON output. */
export type JsonName = keyof typeof jsonOutputs;

/** The value of a JSON output. */
export type JsonValue<N extends JsonName> = ValueOf<(typeof jsonOutputs)[N]['shape']>;

/**
 * The JSON Schema (draft 2020-12) of what the command `path` prints with --json: its outputs, or an error. It accepts further members,
 * because outputs grow. Returns null for a command without JSON output.
 */
export function jsonSchemaOf(path: string): object | null {
  const names = (Object.keys(jsonOutputs) as JsonName[]).filter((name) => name === path || name.startsWith(`${path} `));
  if (names.length === 0) return null;
  const shapes = [...names, 'error' as const].map((name) => {
    const { about = `\`${name}\`.`, shape }: JsonOutput = jsonOutputs[name];
    return shape.meta({ title: `sightline ${name}`, description: `Printed with --json by ${about}` });
  });
  return { $schema: 'https://json-schema.org/draft/2020-12/schema', ...toJsonSchema(z.union(shapes)) };
}
