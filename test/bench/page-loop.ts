import { savePages } from './ingest.ts';

// The bare loop in its own process, so that its CPU time can be measured.
const [baseUrl, key, folder] = process.argv.slice(2) as [string, string, string];
const { requests } = await savePages(folder, { baseUrl, key });
process.stdout.write(`${JSON.stringify({ requests })}\n`);
