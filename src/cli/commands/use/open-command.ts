import { EXIT, SightlineError } from '../../../base/errors.ts';
import { printData, printJson, say } from '../../output/output.ts';
import { terminal } from '../../output/terminal.ts';
import { workspaceOptions } from '../../program/common-options.ts';
import { type Call, defineCommand } from '../../program/define-command.ts';
import { flag, option, refused } from '../../program/option-kinds.ts';

export const open = defineCommand({
  options: {
    ...workspaceOptions,
    print: flag('print the sign-in link instead of opening the browser'),
    url: option('<url>', 'address of the server, if browsers reach it through a proxy', toServerUrl),
  },
  examples: [
    ['sightline open', 'open the pages of the running server, signed in'],
    ['sightline open --print --url https://data.example.com', 'print a sign-in link for another machine'],
  ],
  run: async ({ print, url, ...unread }, begin) => {
    const call = begin(unread);
    const { folder, origin, path } = await findServer(call);
    const { createLink, writeLinkPage } = await import('../../../serve/auth/sessions.ts');
    const token = await createLink(folder, terminal().clock.now());
    const link = `${url ?? origin}${path}/sign-in#${token}`;
    const isOpen = !print && !call.json && (await openLink(await writeLinkPage(folder, link)));
    if (call.json) printJson('open', { url: link });
    else if (isOpen) say('The browser opens the pages. `sightline open --print` prints the link instead.');
    else {
      printData(link);
      say('The link works once, within 10 minutes. It signs a browser in with all rights.');
    }
    return EXIT.done;
  },
});

interface FoundServer {
  /** Folder with the sign-in links of the server. */
  readonly folder: string;
  readonly origin: string;
  /** Prefix of the addresses of the workspace. */
  readonly path: string;
}

// A server of all workspaces is preferred, unless a workspace is named that has its own.
async function findServer({ flags, config }: Call): Promise<FoundServer> {
  const { readDataFolder } = await import('../../context.ts');
  const { readServerOrigin } = await import('../../../workspace/server-record.ts');
  const dataFolder = readDataFolder(flags);
  const all = await readServerOrigin(dataFolder);
  if (all !== null && flags.workspace === undefined) return { folder: dataFolder, origin: all, path: '' };
  const { folder, name } = await config();
  const own = await readServerOrigin(folder);
  if (own !== null) return { folder, origin: own, path: '' };
  if (all !== null) return { folder: dataFolder, origin: all, path: `/w/${name}` };
  throw new SightlineError(
    'usage',
    `no server with pages runs for the workspace ${name}; start one with \`sightline serve\``,
  );
}

// The link is in a file that only the user can read, because other users can read the arguments of a process.
async function openLink(page: string): Promise<boolean> {
  const { openBrowser } = await import('../../output/open-browser.ts');
  const { readSurroundings } = await import('../../context.ts');
  return openBrowser(page, readSurroundings().environment);
}

function toServerUrl(given: string, name: string): string {
  if (/^https?:\/\//.test(given) && URL.canParse(given)) {
    const { origin, pathname, search, hash } = new URL(given);
    if (pathname === '/' && search === '' && hash === '') return origin;
  }
  throw refused(name, given, 'an http or https URL without a path, such as https://data.example.com');
}
