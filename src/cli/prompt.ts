import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { SightlineError } from '../base/errors.ts';
import { visible } from '../base/visible.ts';

/** Longest answer that is taken, in characters. */
const ANSWER_CHARACTERS_MAX = 4_096;

/** Asks a person on a terminal, one question after the other. */
export interface Prompt {
  /** The answer without blanks around it; `standard` for an empty one. */
  ask(question: string, standard?: string): Promise<string>;
  /** As `ask`, but what is typed is not shown. */
  askHidden(question: string): Promise<string>;
  /** Yes or no; an empty answer is `standard`. */
  askWhether(question: string, standard: boolean): Promise<boolean>;
  close(): void;
}

/** Whether there is a person to ask. */
export function canAsk(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true;
}

/**
 * Opens the terminal for questions. Every question throws the signal's reason once that is aborted, as by Ctrl-C, and
 * `interrupted` when the input ends.
 */
export function openPrompt(signal: AbortSignal): Prompt {
  let isHidden = false;
  const shown = new Writable({
    write(chunk: Buffer, _encoding, done) {
      if (!isHidden) process.stderr.write(chunk);
      done();
    },
  });
  const lines: string[] = [];
  let asked = '';
  let waiting: { resolve: (line: string) => void; reject: (reason: unknown) => void } | null = null;
  let isOver = false;
  const terminal = createInterface({ input: process.stdin, output: shown, terminal: true, historySize: 0 });
  const fail = (reason: unknown): void => {
    isHidden = false;
    waiting?.reject(reason);
    waiting = null;
  };
  const ended = (): SightlineError => new SightlineError('interrupted', 'the input ended before all was answered');
  terminal.on('line', (line) => {
    if (waiting === null) lines.push(line);
    else waiting.resolve(line);
    waiting = null;
  });
  // The terminal hands Ctrl-C over as a key; for this process it is what it always is.
  terminal.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
  // After Ctrl-Z the terminal is left paused, and the process would end with the question open: what is typed then, a
  // key perhaps, would be the shell's.
  terminal.on('SIGCONT', () => {
    terminal.resume();
    if (waiting !== null) process.stderr.write(asked);
  });
  terminal.on('close', () => {
    isOver = true;
    fail(ended());
  });
  const stop = (): void => fail(signal.reason);
  signal.addEventListener('abort', stop, { once: true });

  const read = async (question: string, hide: boolean): Promise<string> => {
    signal.throwIfAborted();
    if (isOver) throw ended();
    asked = visible(question);
    process.stderr.write(asked);
    isHidden = hide;
    try {
      const early = lines.shift();
      const line = early ?? (await new Promise<string>((resolve, reject) => (waiting = { resolve, reject })));
      return line.trim().slice(0, ANSWER_CHARACTERS_MAX);
    } finally {
      if (hide) process.stderr.write('\n');
      isHidden = false;
    }
  };
  return {
    ask: async (question, standard = '') => {
      const answer = await read(`${question}${standard === '' ? '' : ` [${standard}]`}: `, false);
      return answer === '' ? standard : answer;
    },
    askHidden: (question) => read(`${question} (it is not shown): `, true),
    askWhether: async (question, standard) => {
      const answer = await read(`${question} ${standard ? '[Y/n]' : '[y/N]'} `, false);
      return answer === '' ? standard : /^y(es)?$/i.test(answer);
    },
    close: () => {
      signal.removeEventListener('abort', stop);
      terminal.close();
      process.stdin.pause();
    },
  };
}
