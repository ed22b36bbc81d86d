import { startSandboxWorkspace } from '../../schemas/fixtures/start.ts';

// A sandbox in its own process with a stopped clock, so that repeated requests get the same response.
const [days, responsesPerDay] = process.argv.slice(2).map(Number) as [number, number];
const now = Date.now();
const options = { brands: 1, days, responsesPerDay, rateLimit: 10_000, clock: () => now };
const { baseUrl, key } = await startSandboxWorkspace(options);
process.stdout.write(`${JSON.stringify({ baseUrl, key })}\n`);
