import { type ErrorCode, SightlineError } from '../base/errors.ts';

const advice: Partial<Record<ErrorCode, string>> = {
  unauthorized: "Check the key against the app's API keys settings: it must be complete, active and of this workspace.",
  plan_required: 'The key is valid, but its workspace has no active plan. Activate one in the app, then try again.',
  not_found: 'The server responds, but not as this API: check the path, which usually ends in /v1.',
  bad_answer: 'The response is not from this API, but for example a web page or a login: check the address.',
  refused: 'The server redirects or rejects the request: use the address that it redirects to, if any.',
  upstream_failed: 'The API is unavailable, or the rate limit of the key is reached: try again in a few minutes.',
  unreachable: 'Check the address, the network and HTTPS_PROXY.',
};

/**
 * Returns an error of the connection test with the next step as its hint, and as its parameter the field to change: `baseUrl` or `key`.
 * Returns other errors unchanged.
 */
export function withAdvice(error: SightlineError): SightlineError {
  const { code, message } = error;
  if (code !== 'config_invalid' && !Object.hasOwn(advice, code)) return error;
  const isUntrusted = code === 'unreachable' && message.startsWith('cannot trust ');
  const hint = isUntrusted ? 'The key was not sent.' : (advice[code] ?? error.hint);
  const isAboutKey = code === 'config_invalid' && /_KEY\b/.test(message);
  const wantsOtherKey = isAboutKey || code === 'unauthorized' || code === 'plan_required';
  return new SightlineError(code, message, { cause: error, hint, parameter: wantsOtherKey ? 'key' : 'baseUrl' });
}
