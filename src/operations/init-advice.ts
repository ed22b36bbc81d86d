import type { ErrorCode, SightlineError } from '../base/errors.ts';

const advice: Partial<Record<ErrorCode, string>> = {
  unauthorized: "Check the key against the app's API keys settings: it must be complete, active and of this workspace.",
  plan_required: 'The key is valid, but its workspace has no active plan. Activate one in the app, then try again.',
  not_found: 'The server responds, but not as this API: check the path, which usually ends in /v1.',
  bad_answer: 'The response is not from this API, but for example a web page or a login: check the address.',
  refused: 'The server redirects or rejects the request: use the address that it redirects to, if any.',
  upstream_failed: 'The API is unavailable, or the rate limit of the key is reached: try again in a few minutes.',
  unreachable: 'Check the address, the network and HTTPS_PROXY.',
};

/** Returns the next step to print if the connection test of `init` failed with `error`. */
export function adviceOn(error: SightlineError): string {
  if (error.code === 'unreachable' && error.message.startsWith('cannot trust ')) return 'The key was not sent.';
  return advice[error.code] ?? error.hint;
}

/** Returns whether another base URL or API key may fix the error. */
export function isAboutAnswers({ code }: SightlineError): boolean {
  return code === 'config_invalid' || Object.hasOwn(advice, code);
}

/** Returns whether the user should enter another API key, not another base URL. */
export function wantsOtherKey(error: SightlineError): boolean {
  const isAboutKey = error.code === 'config_invalid' && /_KEY\b/.test(error.message);
  return isAboutKey || error.code === 'unauthorized' || error.code === 'plan_required';
}
