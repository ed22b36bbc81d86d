import { EXIT } from '../../../base/errors.ts';
import { shownTime } from '../../../contract/time.ts';
import type { CalibratedPoint } from '../../../metrics/calibration/calibrated-points.ts';
import { count, plural, printData, printJson, say } from '../../output/output.ts';
import { formatRows } from '../../output/row-format.ts';
import { workspaceOptions } from '../../program/common-options.ts';
import { defineCommand } from '../../program/define-command.ts';
import { text } from '../../program/option-kinds.ts';

export const calibration = defineCommand({
  options: {
    ...workspaceOptions,
    point: text('<name>', 'show one point with its candidates'),
  },
  examples: [
    ['sightline calibration', 'list the points that the API specification leaves open, and the values found'],
    ['sightline calibration --point urlTitle', 'show the candidates and the evidence of one point'],
  ],
  run: async ({ point, ...unread }, begin) => {
    const { config, json } = begin(unread);
    const { readCalibration } = await import('../../../operations/calibration.ts');
    const { value: points, stale } = await readCalibration(await config(), point);
    if (json) {
      printJson('calibration', { stale, points });
      return EXIT.done;
    }
    if (point === null) printPoints(points);
    else for (const one of points) printPoint(one);
    if (stale) say('from the replica, which is older than the warehouse that another process is using');
    return EXIT.done;
  },
});

function printPoints(points: readonly CalibratedPoint[]): void {
  const names = ['point', 'value', 'state', 'evidence', 'confidence', 'about'];
  const rows = points.map((point) => [
    point.name,
    point.text,
    point.state,
    evidenceOf(point),
    confidenceOf(point),
    point.about,
  ]);
  printData(formatRows({ columns: names.map((name) => ({ name, type: 'VARCHAR' })), rows }, 'table'));
  const open = points.filter(({ state }) => state === 'undetermined').length;
  const wrong = points.filter(({ state }) => state === 'contradicted').length;
  say(
    `${count(points.length - open - wrong)} of ${plural(points.length, 'point')} known, ${count(open)} undetermined, ${count(wrong)} contradicted`,
  );
  if (open + wrong > 0)
    say('`sightline calibration --point NAME` shows why; the setting `conventions` overrides a value');
}

function printPoint(point: CalibratedPoint): void {
  const { name, about, state, text: used, note, candidates, decidedAt, value } = point;
  const lines = [
    `${name}: ${about}`,
    `value: ${used}`,
    `state: ${state}`,
    `evidence: ${evidenceOf(point)}${decidedAt === null ? '' : `, ${shownTime(decidedAt)}`}`,
    `note: ${note}`,
    `setting: "conventions": { ${JSON.stringify(name)}: ${JSON.stringify(value)} }`,
  ];
  printData(lines.join('\n'));
  if (candidates.length === 0) return;
  const rows = candidates.map(({ text: candidate, agreed }) => [candidate, agreed]);
  const columns = ['candidate', 'explained facts'].map((title) => ({ name: title, type: 'VARCHAR' }));
  printData(formatRows({ columns, rows }, 'table'));
}

function evidenceOf({ compared, agreed }: CalibratedPoint): string {
  return compared === 0 ? 'none' : `${count(agreed)} of ${count(compared)}`;
}

function confidenceOf({ confidence }: CalibratedPoint): string {
  return confidence === null ? '' : `${Math.floor(confidence * 1000) / 10} %`;
}
