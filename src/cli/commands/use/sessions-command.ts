import { dirname } from 'node:path';
import { EXIT, SightlineError } from '../../../base/errors.ts';
import { shownTime } from '../../../contract/time.ts';
import { printData, printJson, say } from '../../output/output.ts';
import { formatRows } from '../../output/row-format.ts';
import { terminal } from '../../output/terminal.ts';
import { workspaceOptions } from '../../program/common-options.ts';
import { type Call, defineCommand, defineGroup } from '../../program/define-command.ts';
import { argument } from '../../program/option-kinds.ts';

const list = defineCommand({
  options: workspaceOptions,
  examples: [
    ['sightline sessions list', 'list the browsers that are signed in'],
    ['sightline sessions list --json', 'list them as JSON'],
  ],
  run: async (unread, begin) => {
    const call = begin(unread);
    const found = await findSessions(call);
    if (call.json) {
      printJson(
        'sessions list',
        found.map(({ shown }) => shown),
      );
      return EXIT.done;
    }
    const columns = ['browser', 'key', 'signed in', 'last used', 'id'].map((name) => ({ name, type: 'VARCHAR' }));
    const rows = found.map(({ shown: { id, createdAt, usedAt, userAgent, key } }) => {
      return [userAgent, key ?? 'sign-in link', shownTime(createdAt), shownTime(usedAt), id];
    });
    printData(formatRows({ columns, rows }, 'table'));
    if (found.length === 0) say('No browser is signed in.');
    return EXIT.done;
  },
});

const revoke = defineCommand({
  arguments: { id: argument('<id>', 'ID of the session') },
  options: workspaceOptions,
  examples: [
    ['sightline sessions revoke 7f8c1f4e-4f55-4a0d-9d3a-2f3f6f0d6a51', 'sign a browser out'],
    ['sightline sessions revoke 7f8c1f4e-4f55-4a0d-9d3a-2f3f6f0d6a51 --json', 'sign it out, with the result as JSON'],
  ],
  run: async ({ id, ...unread }, begin) => {
    const call = begin(unread);
    const session = (await findSessions(call)).find(({ shown }) => shown.id === id.toLowerCase());
    if (session === undefined) {
      throw new SightlineError(
        'usage',
        `there is no session ${JSON.stringify(id)}; \`sightline sessions list\` lists them`,
      );
    }
    await session.end();
    if (call.json) printJson('sessions revoke', { id: session.shown.id });
    else say('The browser is signed out.');
    return EXIT.done;
  },
});

export const sessions = defineGroup({
  list: { about: 'list the browsers that are signed in', add: list },
  revoke: { about: 'sign a browser out at once', add: revoke },
});

// Sessions of the server of the workspace, and of a server of all workspaces.
async function findSessions({ config }: Call) {
  const { openSessions } = await import('../../../serve/auth/sessions.ts');
  const { shortAgent } = await import('../../../serve/auth/user-agent.ts');
  const { listKeys } = await import('../../../serve/auth/keys.ts');
  const { folder } = await config();
  const folders = [folder, dirname(folder)];
  const names = new Map(folders.flatMap((each) => listKeys(each)).map(({ id, name }) => [id, name]));
  return folders.flatMap((each) => {
    const store = openSessions(each, terminal().clock);
    return store.list().map(({ id, createdAt, usedAt, userAgent, keyId }) => {
      const key = keyId === null ? null : (names.get(keyId) ?? 'another workspace');
      return { shown: { id, createdAt, usedAt, userAgent: shortAgent(userAgent), key }, end: () => store.end(id) };
    });
  });
}
