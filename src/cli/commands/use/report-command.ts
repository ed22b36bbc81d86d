import { dirname } from 'node:path';
import { pathToFileURL } from 'node:url';
import { systemClock } from '../../../base/clock.ts';
import { EXIT } from '../../../base/errors.ts';
import type { WrittenReport } from '../../../operations/write-report.ts';
import { applyUserUmask, plural, printData, printJson, say } from '../../output/output.ts';
import { workspaceOptions } from '../../program/common-options.ts';
import { defineCommand } from '../../program/define-command.ts';
import { integer, list, text, withDefault } from '../../program/option-kinds.ts';

/** Longest period of a report, in weeks. */
const WEEKS_MAX = 260;

export const report = defineCommand({
  options: {
    ...workspaceOptions,
    brand: list('<ids...>', 'only these brands'),
    weeks: withDefault(integer('<number>', 'weeks that the charts cover', 1, WEEKS_MAX), '26'),
    output: text('<folder>', "output folder (default: reports in the workspace's folder)"),
  },
  examples: [
    ['sightline report', 'write a report for each brand'],
    [
      'sightline report --brand acme --weeks 52 --output reports',
      'write the report of one brand for a year to a folder',
    ],
  ],
  run: async ({ brand, weeks, output, ...unread }, begin) => {
    const { config, json } = begin(unread);
    const { reportWorkspace } = await import('../../../operations/write-report.ts');
    const reports = await reportWorkspace(await config(), systemClock, { brands: brand, weeks, output });
    if (output !== null) {
      const files = reports.flatMap(({ page, charts }) => [page, ...charts]);
      await applyUserUmask([...new Set([output, ...files.map((file) => dirname(file)), ...files])]);
    }
    const shown = renderReports(reports, json);
    if (json) printJson('report', shown);
    return EXIT.done;
  },
});

/** Prints a summary of the written reports and returns their JSON form. With `json` it does not print their paths. */
export function renderReports(reports: readonly WrittenReport[], json: boolean) {
  if (!json) for (const { page } of reports) printData(page);
  const charts = reports.reduce((sum, { charts: files }) => sum + files.length, 0);
  say(`${plural(reports.length, 'report')} with ${plural(charts, 'chart')}`);
  const [first] = reports;
  if (first === undefined) say('The workspace has no brands. Add one in the app, then run `sightline sync`.');
  if (first !== undefined && !json) say(`open ${pathToFileURL(first.page).href}`);
  return { reports };
}
