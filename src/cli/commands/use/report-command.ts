import { dirname } from 'node:path';
import { pathToFileURL } from 'node:url';
import { EXIT, SightlineError } from '../../../base/errors.ts';
import type { WrittenReport } from '../../../operations/write-report.ts';
import { applyUserUmask, plural, printData, printJson, say } from '../../output/output.ts';
import { terminal } from '../../output/terminal.ts';
import { rangeOf, workspaceOptions } from '../../program/common-options.ts';
import { defineCommand } from '../../program/define-command.ts';
import { day, flag, integer, list, oneOf, refused, text, withDefault } from '../../program/option-kinds.ts';

/** Longest period of a report, in weeks. */
const WEEKS_MAX = 260;
const COMPARISONS = ['previous', 'year', 'none'] as const;

export const report = defineCommand({
  options: {
    ...workspaceOptions,
    brand: list('<brands...>', 'only these brands, by name or ID'),
    from: day('first day of the numbers, YYYY-MM-DD (default: 28 days up to the last complete day)'),
    to: day('last day of the numbers, YYYY-MM-DD (default: today)'),
    compare: withDefault(oneOf('<period>', 'comparison period of the numbers', COMPARISONS), 'previous'),
    weeks: withDefault(integer('<number>', 'maximum number of complete weeks in the charts', 1, WEEKS_MAX), '26'),
    png: flag('also write each chart as PNG; needs the package @resvg/resvg-js'),
    link: text('<url>', 'address of `sightline serve`, for links to its pages (default: no links)'),
    output: text('<folder>', "output folder (default: reports in the workspace's folder)"),
  },
  examples: [
    ['sightline report', 'write a report for each brand'],
    [
      'sightline report --brand acme --from 2026-10-01 --to 2026-10-31 --compare year --output reports',
      'compare October of one brand with the October before, and write the report to a folder',
    ],
  ],
  run: async ({ brand, from, to, compare, weeks, png, link, output, ...unread }, begin) => {
    const { config, json } = begin(unread);
    if (link !== null && !(/^https?:\/\/[^/]/.test(link) && URL.canParse(link)))
      throw refused('--link', link, 'an address with http or https');
    const range = rangeOf(from, to);
    const { reportWorkspace } = await import('../../../operations/write-report.ts');
    const reports = await reportWorkspace(await config(), terminal().clock, {
      brands: brand,
      range,
      compareTo: compare,
      weeks,
      png,
      address: link,
      output,
    }).catch(withOutputHint);
    if (output !== null) {
      const files = reports.flatMap(({ page, charts }) => [page, ...charts]);
      await applyUserUmask([...new Set([output, ...files.map((file) => dirname(file)), ...files])]);
    }
    const shown = renderReports(reports, json);
    if (json) printJson('report', shown);
    return EXIT.done;
  },
});

// The hint of the code is about the data folder.
function withOutputHint(thrown: unknown): never {
  if (!(thrown instanceof SightlineError) || thrown.code !== 'folder_unwritable') throw thrown;
  throw new SightlineError(thrown.code, thrown.message, {
    hint: 'Choose a folder that this user may write to with --output.',
    cause: thrown,
  });
}

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
