import { startSandboxWorkspace } from '../../schemas/fixtures/start.ts';

// A sandbox in a process of its own, whose clock stands still: the same answers, however often they are asked for.
const [days, responsesPerDay] = process.argv.slice(2).map(Number) as [number, number];
const now = Date.now();
const options = { brands: 1, days, responsesPerDay, rateLimit: 10_000, clock: () => now };
const { baseUrl, key } = await startSandboxWorkspace(options);
process.stdout.write(`${JSON.stringify({ baseUrl, key })}\n`);
