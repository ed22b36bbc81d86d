import { EXIT, SightlineError } from '../../../base/errors.ts';
import { LIMIT_MAX } from '../../../contract/plausibility/rate-headers.ts';
import { parseFaults } from '../../../sandbox/faults.ts';
import { listening } from '../../listening.ts';
import { printData, printJson, say } from '../../output/output.ts';
import { defineCommand } from '../../program/define-command.ts';
import { flag, integer, oneOf, option, rateLimit, withDefault } from '../../program/option-kinds.ts';

/** `sandbox` runs until it is stopped. */
export const sandbox = defineCommand({
  options: {
    port: withDefault(integer('<port>', 'port, or 0 for any', 0, 65_535), '4010'),
    seed: withDefault(
      integer('<number>', 'seed of the generator; the same seed gives the same workspace', 0, 2 ** 31 - 1),
      '1',
    ),
    brands: withDefault(integer('<number>', 'number of brands', 0, 200), '2'),
    prompts: withDefault(integer('<number>', 'number of prompts per brand', 0, 5_000), '20'),
    days: withDefault(integer('<number>', 'number of days of history', 1, 2_000), '60'),
    responsesPerDay: integer(
      '<number>',
      'responses per brand and day (default: one per prompt and engine)',
      0,
      100_000,
    ),
    rateLimit: rateLimit('requests per minute, or off', LIMIT_MAX),
    window: withDefault(oneOf('<kind>', 'kind of rate limit window', ['sliding', 'fixed']), 'sliding'),
    latencyMs: withDefault(integer('<number>', 'delay of each response', 0, 600_000), '0'),
    faults: option('<list>', 'simulated faults, such as 429=0.02,500=3x,reset=0.01@/path', toFaults),
    json: flag('print the base URL and the key as JSON'),
  },
  exits: '0 after it was stopped.',
  examples: [
    ['sightline sandbox', 'serve a small workspace on port 4010'],
    ['sightline sandbox --brands 5 --days 365 --faults 429=0.02', 'serve a larger one that sometimes rejects requests'],
  ],
  run: async (values, begin) => {
    const { port, seed, brands, prompts, days, responsesPerDay, rateLimit, window, latencyMs, ...more } = values;
    const { faults, ...unread } = more;
    const { json, signal } = begin(unread);
    const size = { brands, prompts, days, ...(responsesPerDay === null ? {} : { responsesPerDay }) };
    const network = { port, rateLimit, window, latencyMs, faults: faults ?? [] };
    const { startSandboxWorkspace } = await import('../../../../schemas/fixtures/start.ts');
    const server = await listening(network, () => startSandboxWorkspace({ seed, ...size, ...network }));
    if (json) printJson('sandbox', { baseUrl: server.baseUrl, key: server.key });
    else {
      printData(`SIGHTLINE_BASE_URL=${server.baseUrl}\nSIGHTLINE_API_KEY=${server.key}`);
      say('The sandbox serves a generated workspace until Ctrl-C. To advance its clock:');
      say(`  curl -X POST ${new URL(server.baseUrl).origin}/_sandbox/advance -d '{"days":1,"lateAnswers":3}'`);
    }
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    await server.close();
    return EXIT.done;
  },
});

function toFaults(given: string, name: string): ReturnType<typeof parseFaults> {
  try {
    return parseFaults(given);
  } catch (thrown) {
    throw new SightlineError('usage', `${name}: ${(thrown as Error).message}`, { cause: thrown });
  }
}
