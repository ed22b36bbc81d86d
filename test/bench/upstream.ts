import { startSandboxWorkspace } from '../../schemas/fixtures/start.ts';
import type { UpstreamSize } from './children.ts';

// A sandbox in its own process with a stopped clock, so that repeated requests get the same response.
const { days, responsesPerDay, brands = 1, keys = [] } = JSON.parse(process.argv[2] ?? '') as UpstreamSize;
const now = Date.now();
const options = { brands, days, responsesPerDay, rateLimit: 10_000, clock: () => now };
const { baseUrl, key, setKey } = await startSandboxWorkspace(options);
for (const name of keys) setKey(name, 'active');
process.stdout.write(`${JSON.stringify({ baseUrl, key })}\n`);
