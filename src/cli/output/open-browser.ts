import { spawn } from 'node:child_process';

/** How long the program that opens the browser may take, in milliseconds. Some end only with the browser. */
const OPEN_MS = 5_000;

/** Opens a file or address in the user's browser. Returns false if that is not possible. */
export async function openBrowser(
  target: string,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<boolean> {
  const command = openerOf(process.platform, environment);
  if (command === null) return false;
  const [program, ...given] = command;
  return new Promise((resolve) => {
    const child = spawn(program, [...given, target], { stdio: 'ignore', detached: true, env: environment });
    const timer = setTimeout(() => resolve(true), OPEN_MS);
    const end = (isOpen: boolean): void => {
      clearTimeout(timer);
      resolve(isOpen);
    };
    child.once('error', () => end(false));
    child.once('exit', (code) => end(code === 0));
    child.unref();
  });
}

/** Returns the command that opens a file in the browser of a platform; null without a graphical session. */
export function openerOf(
  platform: NodeJS.Platform,
  environment: Readonly<Record<string, string | undefined>>,
): readonly [string, ...string[]] | null {
  if (platform === 'darwin') return ['open'];
  if (platform === 'win32') return ['cmd', '/c', 'start', ''];
  const hasDisplay = Boolean(environment['DISPLAY'] ?? environment['WAYLAND_DISPLAY']);
  return hasDisplay ? ['xdg-open'] : null;
}
