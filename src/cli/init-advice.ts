import type { ErrorCode, SightlineError } from '../base/errors.ts';

const advice: Partial<Record<ErrorCode, string>> = {
  unauthorized:
    "Check the key against the app's API keys settings: copied whole, not deleted, not expired, and of this workspace.",
  plan_required:
    'The key is known, but its workspace has no active plan: activate one in the app; the key works again then.',
  not_found: 'Something answers there, but not this API: check the path, which usually ends in /v1.',
  bad_answer: 'What answers there is not this API, such as a web page or a login: check the address.',
  refused: 'What answers there sends elsewhere or refuses: give the address that it sends to, if it names one.',
  upstream_failed:
    'The API is there, but cannot answer now, or the key is used up for this minute: try again in a while.',
  unreachable: 'Check the address and the network; a proxy that HTTPS_PROXY names is not used.',
};

/** What a person can do about the error of a first request. */
export function adviceOn(error: SightlineError): string {
  if (error.code === 'unreachable' && error.message.startsWith('cannot trust ')) return 'The key was not sent.';
  return advice[error.code] ?? error.hint;
}

/** Whether another address or another key may put it right; a full disk, for one, stays full. */
export function isAboutAnswers({ code }: SightlineError): boolean {
  return code === 'config_invalid' || Object.hasOwn(advice, code);
}

/** Whether it is the key that should be given anew, and not the address. */
export function wantsOtherKey(error: SightlineError): boolean {
  const isAboutKey = error.code === 'config_invalid' && /_KEY\b/.test(error.message);
  return isAboutKey || error.code === 'unauthorized' || error.code === 'plan_required';
}
