import { createWriteStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';

// Reads all pages of responses into files, and does nothing else, in its own process, so that its CPU time can be measured.
const [baseUrl, key, folder, length] = process.argv.slice(2) as [string, string, string, string];
await mkdir(join(folder, 'pages'));
let requests = 0;
const ask = async (path: string): Promise<string> => {
  requests += 1;
  return (await fetch(`${baseUrl}${path}`, { headers: { authorization: `Bearer ${key}` } })).text();
};
const brands = JSON.parse(await ask('/brands')) as { data: { id: string }[] };
const today = Date.now();
const days = Array.from({ length: Number(length) }, (_, index) =>
  new Date(today - index * 86_400_000).toISOString().slice(0, 10),
);
const units = brands.data.flatMap(({ id }) => days.map((day) => ({ id, day })));
const chains = Array.from({ length: 8 }, async (_, chain) => {
  const file = createWriteStream(join(folder, 'pages', `${chain}.ndjson`));
  for (let index = chain; index < units.length; index += 8) {
    const { id, day } = units[index] as { id: string; day: string };
    for (let cursor: string | null = ''; cursor !== null;) {
      const query = new URLSearchParams({ from: day, to: day, limit: '100', ...(cursor === '' ? {} : { cursor }) });
      const body = await ask(`/brands/${id}/responses?${query}`);
      file.write(`${body}\n`);
      cursor = (JSON.parse(body) as { nextCursor: string | null }).nextCursor;
    }
  }
  file.end();
  await finished(file);
});
await Promise.all(chains);
process.stdout.write(`${JSON.stringify({ requests })}\n`);
