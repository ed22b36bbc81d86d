import { SightlineError } from '../base/errors.ts';
import { checkOrder } from './program/common-options.ts';

/** Values of options by the names of the parameters that they set; null and empty lists set nothing. */
type Values = Readonly<Record<string, string | number | readonly string[] | null>>;

/** Options and arguments with another name than their parameter. */
const NAMES: Readonly<Record<string, string>> = {
  metrics: 'measures',
  metric: 'metric',
  group_by: '--by',
  dimension: 'dimension',
};

/**
 * Sends a request to the metrics layer with the values of options. Errors name the option instead of the parameter.
 *
 * @throws SightlineError `usage` if `from` is after `to`, and errors of `send`
 */
export async function sendWithOptions<T>(values: Values, send: (given: URLSearchParams) => Promise<T>): Promise<T> {
  const { from = null, to = null } = values;
  checkOrder(from as string | null, to as string | null);
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    for (const one of value === null ? [] : [value].flat()) given.append(name, String(one));
  }
  try {
    return await send(given);
  } catch (thrown) {
    throw thrown instanceof SightlineError ? withOptionName(thrown) : thrown;
  }
}

function withOptionName(error: SightlineError): SightlineError {
  const { parameter } = error.facts;
  if (parameter === undefined) return error;
  const name = NAMES[parameter] ?? `--${parameter.replaceAll('_', '-')}`;
  const isFirst = error.message.startsWith(`${parameter} is `);
  const message = isFirst ? `${name}${error.message.slice(parameter.length)}` : error.message;
  return new SightlineError(error.code, message, { ...error.facts, parameter: name, hint: error.hint, cause: error });
}
