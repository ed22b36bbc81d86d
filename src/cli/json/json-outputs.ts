import { z } from 'zod';
import { error, type ValueOf } from '../../contract/operation/json-parts.ts';
import { toJsonSchema } from '../../contract/operation/operation.ts';
import { calibratedPoint } from '../../metrics/calibration/calibrated-points.ts';
import { describedMeasure, describedModel } from '../../metrics/model/measures.ts';
import { writtenBackup } from '../../operations/backup/backup.ts';
import { restored } from '../../operations/backup/restore.ts';
import { clusterState } from '../../operations/cluster/cluster.ts';
import { describedTable } from '../../operations/dictionary.ts';
import { workspaceDiagnosis } from '../../operations/doctor/diagnose.ts';
import { endpointList } from '../../operations/endpoints.ts';
import { listedTargets, testedTarget } from '../../operations/notify/notify.ts';
import { pricedPlan } from '../../operations/plan.ts';
import { replaySummary } from '../../operations/replay.ts';
import { workspaceStatus } from '../../operations/status.ts';
import { briefBrand } from '../../read/metrics/brief-brand.ts';
import { dimensionValues } from '../../read/metrics/dimension-values.ts';
import { explainMetric, listChanges, listOpportunities } from '../../read/metrics/explanations.ts';
import { runMetrics } from '../../read/metrics/run-metrics.ts';
import { listedKey } from '../../serve/auth/keys.ts';
import { progressState } from '../../warehouse/ledger/progress-state.ts';
import { runCost, runDetails } from '../../warehouse/ledger/run-costs.ts';
import * as files from './files-json.ts';
import * as operation from './operation-json.ts';
import * as server from './server-json.ts';
import * as sync from './sync-json.ts';

const stale = z.boolean().describe('whether the live file has newer data');

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
  plan: { shape: pricedPlan },
  verify: { shape: sync.verify },
  compare: { shape: sync.compare },
  calibration: { shape: z.object({ stale, points: z.array(calibratedPoint) }) },
  status: { shape: workspaceStatus },
  'status --all': {
    about: '`status --all`: one line for each workspace.',
    shape: z.union([workspaceStatus, error.extend({ workspace: z.string() })]),
  },
  endpoints: { shape: endpointList },
  runs: { shape: z.array(runCost) },
  'runs id': { about: '`runs` with the ID of a run.', shape: runDetails },
  'state list': { shape: z.object({ resources: z.array(progressState) }) },
  'state reset': { shape: sync.stateReset },
  replay: { shape: replaySummary },
  export: { about: '`export`, which writes a snapshot.', shape: files.snapshot },
  'export --output': { about: '`export --output FOLDER`, which writes plain files.', shape: files.plainFiles },
  load: { about: '`load`: the result of each destination.', shape: files.load },
  'load --all': { about: '`load --all`: one line for each workspace.', shape: files.loadOfWorkspace },
  'export --all': { about: '`export --all`: one line for each workspace.', shape: files.exportOfWorkspace },
  sql: { about: '`sql`: an array with an object for each row.', shape: files.rows },
  connect: { shape: files.connect },
  describe: { shape: z.array(describedTable) },
  'describe table': { about: '`describe` with a table.', shape: describedTable },
  'metrics list': { shape: describedModel },
  'metrics describe': { shape: describedMeasure },
  'metrics values': { shape: dimensionValues.output },
  'metrics query': { shape: runMetrics.output },
  'metrics export': { shape: files.metricsExport },
  brief: { shape: briefBrand.output },
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
  'cluster status': { shape: clusterState },
  'cluster enqueue': { shape: server.clusterEnqueue },
  doctor: { about: '`doctor`; with `--all` one line for each workspace.', shape: workspaceDiagnosis },
  backup: { shape: writtenBackup },
  notify: { shape: listedTargets },
  'notify --test': { shape: z.array(testedTarget) },
  restore: { shape: restored },
  'keys create': { shape: server.newKey },
  'keys list': { shape: server.keys },
  'keys revoke': { shape: listedKey },
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
