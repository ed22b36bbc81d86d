// `npm run docs`: writes the generated pages and lists of docs/, and the exports of the metrics layer in examples/.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { docsPages } from './docs.ts';

for (const [path, text] of await docsPages()) {
  const file = join(import.meta.dirname, '../..', path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
