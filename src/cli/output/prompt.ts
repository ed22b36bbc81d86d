import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { SightlineError } from '../../base/errors.ts';
import { visible } from '../../base/visible.ts';
import { terminal } from './terminal.ts';

/** Longest accepted input, in characters. */
const ANSWER_CHARACTERS_MAX = 4_096;

/** Asks the user questions on a terminal, one at a time. */
export interface Prompt {
  /** Returns the trimmed input, or `standard` if it is empty. */
  ask(question: string, standard?: string): Promise<string>;
  /** Like `ask`, but does not show the typed text. */
  askHidden(question: string): Promise<string>;
  /** Asks a yes-or-no question. Empty input means `standard`. */
  askWhether(question: string, standard: boolean): Promise<boolean>;
  close(): void;
}

/** Whether standard input and standard error are a terminal. */
export function canAsk(): boolean {
  const { stdin, stderr } = terminal();
  return stdin.isTTY === true && stderr.isTTY === true;
}

/**
 * Opens the terminal for questions. Pending and later questions throw the signal's reason once it is aborted, and `interrupted`
 * when the input ends.
 */
export function openPrompt(signal: AbortSignal): Prompt {
  const { stdin, stderr } = terminal();
  let isHidden = false;
  const shown = new Writable({
    write(chunk: Buffer, _encoding, done) {
      if (!isHidden) stderr.write(chunk);
      done();
    },
  });
  // readline redraws a line of several rows by the width.
  Object.defineProperty(shown, 'columns', { get: () => stderr.columns });
  const lines: string[] = [];
  let waiting: { resolve: (line: string) => void; reject: (reason: unknown) => void } | null = null;
  let isOver = false;
  const keyboard = createInterface({ input: stdin, output: shown, terminal: true, historySize: 0 });
  const fail = (reason: unknown): void => {
    isHidden = false;
    waiting?.reject(reason);
    waiting = null;
  };
  const ended = (): SightlineError =>
    new SightlineError('interrupted', 'the input ended before all questions were answered');
  keyboard.on('line', (line) => {
    if (waiting === null) lines.push(line);
    else waiting.resolve(line);
    waiting = null;
  });
  // readline receives Ctrl-C as a key. Send the signal that the user expects.
  keyboard.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
  // After Ctrl-Z the terminal stays paused and the process would end, so that the shell would receive the typed text, which
  // may be a key.
  keyboard.on('SIGCONT', () => {
    keyboard.resume();
    if (waiting !== null) stderr.write(keyboard.getPrompt());
  });
  keyboard.on('close', () => {
    isOver = true;
    fail(ended());
  });
  const stop = (): void => fail(signal.reason);
  signal.addEventListener('abort', stop, { once: true });

  const read = async (question: string, hide: boolean): Promise<string> => {
    signal.throwIfAborted();
    if (isOver) throw ended();
    // readline shows it again when the typed text is edited.
    keyboard.setPrompt(visible(question));
    isHidden = hide;
    // `prompt` also shows text that was typed early, which may be a key.
    if (hide) stderr.write(keyboard.getPrompt());
    else keyboard.prompt(true);
    try {
      const early = lines.shift();
      const line = early ?? (await new Promise<string>((resolve, reject) => (waiting = { resolve, reject })));
      return line.trim().slice(0, ANSWER_CHARACTERS_MAX);
    } finally {
      if (hide) stderr.write('\n');
      isHidden = false;
    }
  };
  return {
    ...questionsOf(read, (text) => stderr.write(text)),
    close: () => {
      signal.removeEventListener('abort', stop);
      keyboard.close();
      stdin.pause();
    },
  };
}

function questionsOf(
  read: (question: string, hide: boolean) => Promise<string>,
  write: (text: string) => void,
): Omit<Prompt, 'close'> {
  return {
    ask: async (question, standard = '') => {
      const answer = await read(`${question}${standard === '' ? '' : ` [${standard}]`}: `, false);
      return answer === '' ? standard : answer;
    },
    askHidden: (question) => read(`${question} (hidden): `, true),
    askWhether: async (question, standard) => {
      for (;;) {
        const answer = await read(`${question} ${standard ? '[Y/n]' : '[y/N]'} `, false);
        if (answer === '') return standard;
        if (/^(y(es)?|no?)$/i.test(answer)) return /^y/i.test(answer);
        write('Answer y or n.\n');
      }
    },
  };
}
