// Checks of one client in Node. The result is written as JSON to the file that INTEROP_RESULT names.
import { readFileSync, writeFileSync } from 'node:fs';

const DETAIL_MAX = 600;

export const world = JSON.parse(readFileSync(process.env.INTEROP_WORLD, 'utf8'));

export function createReport(version) {
  const checks = [];
  return {
    // Passes if the work returns true; an exception is a failed check.
    check: async (name, work) => {
      const found = await Promise.resolve()
        .then(work)
        .catch((thrown) => `${thrown}`);
      checks.push({ name, ok: found === true, detail: found === true ? '' : `${found}`.slice(0, DETAIL_MAX) });
    },
    write: () => writeFileSync(process.env.INTEROP_RESULT, JSON.stringify({ version, checks })),
  };
}
