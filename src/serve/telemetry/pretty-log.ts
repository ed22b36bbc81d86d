import { isColorSupported, prettyFactory } from 'pino-pretty';
import { isRecord } from '../../base/json.ts';
import { visible, visibleLine } from '../../base/visible.ts';

/** Fields that are part of a request's message or not needed on a terminal. */
const OMITTED_FIELDS = 'method,path,status,ms,key,bytes,cache,id,pid,hostname';

/** A colour sequence. Only pino-pretty writes these, because those in texts are escaped before. */
const COLOUR = new RegExp(`(${String.fromCharCode(27)}\\[[\\d;]*m)`);

/** Creates a function that formats JSON log lines for a terminal, in colour unless unsupported or NO_COLOR is set. */
export function createPrettyLines(): (text: string) => string {
  const pretty = prettyFactory({
    colorize: isColorSupported,
    ignore: OMITTED_FIELDS,
    singleLine: true,
    translateTime: 'SYS:HH:MM:ss',
    // Escape control characters in client and upstream text, so that they cannot affect the terminal.
    messageFormat: (line, messageKey) => visibleLine(describe(line, messageKey)),
  });
  return (text) =>
    text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => (pretty(line) ?? '').split(COLOUR).map(visiblePart).join(''))
      .join('');
}

// Parts with an odd index are colour sequences.
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
