import { isColorSupported, prettyFactory } from 'pino-pretty';
import { isRecord } from '../../base/json.ts';
import { visible, visibleLine } from '../../base/visible.ts';

/** What a request's line says in one go, and what needs not be said on a terminal. */
const SAID = 'method,path,status,ms,key,bytes,cache,id,pid,hostname';

/** A change of colour, which only pino-pretty writes: those of texts are escaped before. */
const COLOUR = new RegExp(`(${String.fromCharCode(27)}\\[[\\d;]*m)`);

/** Builds what turns lines of a log into lines for people, in colours where the terminal has them and NO_COLOR is not set. */
export function createPrettyLines(): (text: string) => string {
  const pretty = prettyFactory({
    colorize: isColorSupported,
    ignore: SAID,
    singleLine: true,
    translateTime: 'SYS:HH:MM:ss',
    // What a client put into an address, or upstream into a message, does nothing to the terminal.
    messageFormat: (line, messageKey) => visibleLine(describe(line, messageKey)),
  });
  return (text) =>
    text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => (pretty(line) ?? '').split(COLOUR).map(visiblePart).join(''))
      .join('');
}

// Parts with an odd index are changes of colour.
function visiblePart(part: string, index: number): string {
  return index % 2 === 1 ? part : visible(part);
}

function describe(line: unknown, messageKey: string): string {
  if (!isRecord(line) || line['status'] === undefined || line['ms'] === undefined) {
    return isRecord(line) ? String(line[messageKey] ?? '') : '';
  }
  const { method, path, status, ms, cache } = line;
  return [method ?? 'unreadable request', path, status, `${String(ms)} ms`, cache]
    .filter((part) => part != null)
    .join(' ');
}
