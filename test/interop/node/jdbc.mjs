// Reads the replica over JDBC in a Java process with the time zone of this process.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { createReport, world } from './report.mjs';

const [jar, version] = process.argv.slice(2);
const report = createReport(version);
const program = join(import.meta.dirname, '../java/JdbcFigures.java');
const zone = `-Duser.timezone=${process.env.TZ}`;
const args = [zone, '--class-path', jar, program, world.replica, world.truth.cut];
const lines = execFileSync('java', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
  .trim()
  .split('\n');
const found = new Map(lines.map((line) => line.split('\t')));
for (const [name, expected] of Object.entries(world.truth.figures)) {
  const value = found.get(name);
  await report.check(name, () => Number(value) === expected || `found ${value}, expected ${expected}`);
}
report.write();
