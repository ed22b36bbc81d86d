import { EXIT } from '../../base/errors.ts';

const meanings: Readonly<Record<keyof typeof EXIT, string>> = {
  done: 'done',
  failed: 'failed; the error message has the reason and the next step',
  usage: 'wrong usage or configuration; nothing was done',
  partial: 'partial: the result is incomplete or unverified, and the next run resumes',
  locked: 'another process owns the warehouse',
  interrupted: 'interrupted by Ctrl-C or a signal; no data are lost',
};

/** The exit codes of all commands, with their meanings. */
export const exitCodes = Object.entries(EXIT).map(([name, code]) => {
  return [String(code), meanings[name as keyof typeof EXIT]] as const;
});
