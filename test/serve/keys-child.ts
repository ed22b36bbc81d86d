import { createKey } from '../../src/serve/auth/keys.ts';

// Creates several keys concurrently in a separate process and prints them.
const [folder = '', name = '', count = '0'] = process.argv.slice(3);
const made = await Promise.all(
  Array.from({ length: Number(count) }, (_none, index) => createKey(folder, `${name} ${index}`, null, Date.now())),
);
process.send?.(made.map(({ text }) => text).join(' '), () => process.exit());
