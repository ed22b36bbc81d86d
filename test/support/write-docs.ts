// `npm run docs`: writes the generated pages and lists of docs/.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { docsPages } from './docs.ts';

for (const [path, text] of await docsPages()) writeFileSync(join(import.meta.dirname, '../..', path), text);
