import type { Clock } from '../../base/clock.ts';
import { visible } from '../../base/visible.ts';
import { type Log, type LogLevel, openLog } from '../../serve/telemetry/server-log.ts';
import { terminal } from './terminal.ts';

/** Opens a log on standard error: formatted lines on a terminal, JSON lines otherwise. */
export async function openTerminalLog(level: LogLevel, clock: Clock): Promise<Log> {
  const { stderr } = terminal();
  const pretty =
    stderr.isTTY === true ? (await import('../../serve/telemetry/pretty-log.ts')).createPrettyLines() : null;
  return openLog((text) => stderr.write(pretty === null ? visible(text) : pretty(text)), level, clock);
}
