import { EXIT } from '../../../base/errors.ts';
import { visibleLine } from '../../../base/visible.ts';
import type { ListedEndpoint } from '../../../operations/endpoints.ts';
import { count, plural, printData, printJson, say } from '../../output/output.ts';
import { formatRows } from '../../output/row-format.ts';
import { workspaceOptions } from '../../program/common-options.ts';
import { defineCommand } from '../../program/define-command.ts';

export const endpoints = defineCommand({
  options: workspaceOptions,
  examples: [
    ['sightline endpoints', "list the endpoints in the API's OpenAPI document, and whether they are mirrored"],
    ['sightline endpoints --json', 'list them as JSON'],
  ],
  run: async (unread, begin) => {
    const { context, json } = begin(unread);
    const { listEndpoints } = await import('../../../operations/endpoints.ts');
    const listed = await listEndpoints(await context());
    if (json) printJson('endpoints', listed);
    else printEndpoints(listed.endpoints);
    if (listed.unlisted.length > 0) say(`not in the document: ${listed.unlisted.join(', ')}`);
    if (listed.ignored > 0) say(`${plural(listed.ignored, 'path')} of the document ignored: too many or too long`);
    return EXIT.done;
  },
});

function printEndpoints(listed: readonly ListedEndpoint[]): void {
  const columns = ['path', 'state', 'resource', 'reason'].map((name) => ({ name, type: 'VARCHAR' }));
  const rows = listed.map(({ path, state, resource, reason }) => [visibleLine(path), state, resource, reason]);
  printData(formatRows({ columns, rows }, 'table'));
  const of = (state: ListedEndpoint['state']): string => count(listed.filter((one) => one.state === state).length);
  say(
    `${of('declared')} declared, ${of('mirrored')} mirrored, ${of('available')} available, ${of('unsupported')} unsupported`,
  );
}
