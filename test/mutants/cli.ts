import type { Mutant } from './run-mutants.ts';

/** Faults of commands, of the operations below them, and of what all commands share. */
export const mutants: readonly Mutant[] = [
  // Settings that `init` writes
  {
    file: 'src/operations/setup.ts',
    from: "withVariables(readText(join(folder, ENV_FILE)) ?? '', variables), 0o600]",
    to: "withVariables(readText(join(folder, ENV_FILE)) ?? '', variables), null]",
    tests: ['test/cli/init.test.ts'],
  },
  {
    file: 'src/operations/setup.ts',
    from: '    left.delete(name);\n',
    to: '',
    tests: ['test/cli/init.test.ts'],
  },
  {
    file: 'src/operations/setup.ts',
    from: 'if (text !== null && (await writeAside(join(folder, name), text, mode))) written.push(name);',
    to: 'if (text !== null && ((await writeAside(join(folder, name), text, mode)) || true)) written.push(name);',
    tests: ['test/cli/init.test.ts'],
  },
  {
    file: 'src/operations/connection-test.ts',
    from: "isLocal ? 'http' : 'https'",
    to: "isLocal ? 'https' : 'https'",
    tests: ['test/cli/init.test.ts'],
  },
  // Options and values of the command line
  {
    file: 'src/cli/program/option-kinds.ts',
    from: 'if (value >= least && value <= most) return value;',
    to: 'if (value >= least || value <= most) return value;',
    tests: ['test/cli/bad-input.test.ts'],
  },
  {
    file: 'src/cli/program/option-kinds.ts',
    from: ' && toDay(given) !== null) return given;',
    to: ') return given;',
    tests: ['test/cli/bad-input.test.ts'],
  },
  {
    file: 'src/cli/program/option-kinds.ts',
    from: "if (given.trim() !== '') return given;",
    to: 'return given;',
    tests: ['test/cli/bad-input.test.ts'],
  },
  {
    file: 'src/cli/program/common-options.ts',
    from: "if (from === null) throw new SightlineError('usage', '--to requires --from');",
    to: 'if (from === null) return null;',
    tests: ['test/cli/bad-input.test.ts'],
  },
  {
    file: 'src/cli/program/common-options.ts',
    from: 'moments.find((moment) => moment > nowMs) as number',
    to: 'moments.find((moment) => moment >= nowMs) as number',
    tests: ['test/cli/options.test.ts'],
  },
  {
    file: 'src/base/config/config-file.ts',
    from: "if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;",
    to: 'return undefined;',
    tests: ['test/cli/bad-input.test.ts'],
  },
  {
    file: 'src/base/choose-name.ts',
    from: 'if (found.length > 1) {',
    to: 'if (found.length > 2) {',
    tests: ['test/base/choose-name.test.ts'],
  },
  // Output
  {
    file: 'src/cli/output/output.ts',
    from: 'const shown = isExact && stdout.isTTY !== true ? text : visible(text);',
    to: 'const shown = isExact ? text : visible(text);',
    tests: ['test/cli/control-characters.test.ts'],
  },
  {
    file: 'src/cli/output/output.ts',
    from: '  if (!terminal().isVerbose) return;\n',
    to: '',
    tests: ['test/cli/bad-input.test.ts'],
  },
  {
    file: 'src/cli/output/output.ts',
    from: "if (error.code !== 'interrupted') say(error.hint);",
    to: "if (error.code !== 'usage') say(error.hint);",
    tests: ['test/cli/bad-input.test.ts'],
  },
  {
    file: 'src/cli/output/row-format.ts',
    from: 'const names = uniqueNames(columns.map(({ name }) => name));',
    to: 'const names = columns.map(({ name }) => name);',
    tests: ['test/cli/sql.test.ts'],
  },
  {
    file: 'src/cli/output/invoked-as.ts',
    from: '? path : JSON.stringify(path);',
    to: '? path : path;',
    tests: ['test/cli/options.test.ts'],
  },
  // SQL
  {
    file: 'src/cli/commands/use/sql-command.ts',
    from: "'.ndjson': 'ndjson',",
    to: "'.ndjson': 'json',",
    tests: ['test/cli/sql.test.ts'],
  },
  {
    file: 'src/cli/commands/use/sql-command.ts',
    from: "const most = shown === 'table' ? {} : { resultsMax: 1 };",
    to: 'const most = {};',
    tests: ['test/cli/sql.test.ts'],
  },
  {
    file: 'src/cli/commands/use/sql-command.ts',
    from: 'timeoutMs: timeout * 1_000',
    to: 'timeoutMs: timeout * 60_000',
    tests: ['test/cli/sql.test.ts'],
  },
  {
    file: 'src/operations/query.ts',
    from: '  await checkNotOwnFile(folder, path,',
    to: "  if (folder === '') await checkNotOwnFile(folder, path,",
    tests: ['test/cli/sql.test.ts'],
  },
  // Exports
  {
    file: 'src/operations/export/export-folder.ts',
    from: 'const others = names.filter((name) => !own.includes(name));',
    to: 'const others = listing === null ? names : [];',
    tests: ['test/cli/export.test.ts'],
  },
  {
    file: 'src/operations/export/export-folder.ts',
    from: 'if (name.startsWith(old) && !existsSync(folder)) await rename(join(parent, name), folder);',
    to: 'if (name.startsWith(old) && existsSync(folder)) await rename(join(parent, name), folder);',
    tests: ['test/cli/export.test.ts'],
  },
  {
    file: 'src/operations/export/export-files.ts',
    from: 'const folder = await realpath(path).catch(() => resolve(path));',
    to: 'const folder = resolve(path);',
    tests: ['test/cli/export.test.ts'],
  },
  {
    file: 'src/cli/output/export-summary.ts',
    from: 'const omitted = files.filter(({ cut }) => cut.omitted > 0);',
    to: 'const omitted = files.filter(({ cut }) => cut.omitted < 0);',
    tests: ['test/cli/export.test.ts'],
  },
  {
    file: 'src/workspace/workspace.ts',
    from: 'if (!copy.isCurrent || !(await opensAsReplica(layout.analytics)))',
    to: 'if (!copy.isCurrent)',
    tests: ['test/cli/damaged-copy.test.ts'],
  },
  // Doctor
  {
    file: 'src/operations/doctor/check-files.ts',
    from: 'if (SNAPSHOT_ASIDE.test(name)) found.push(join(layout.snapshots, name));',
    to: 'if (ASIDE.test(name)) found.push(join(layout.snapshots, name));',
    tests: ['test/cli/doctor.test.ts'],
  },
  {
    file: 'src/operations/doctor/check-files.ts',
    from: "const status = (mode & OTHERS) === 0 ? 'warning' : 'failure';",
    to: "const status = (mode & GROUP) === 0 ? 'warning' : 'failure';",
    tests: ['test/cli/doctor.test.ts'],
  },
  {
    file: 'src/operations/doctor/check-data.ts',
    from: 'return copy < live && !isAway(context)',
    to: 'return copy > live && !isAway(context)',
    tests: ['test/cli/doctor.test.ts'],
  },
  {
    file: 'src/operations/doctor/check-data.ts',
    from: "if (isDamaged) return [{ ...problem, advice: 'Repair the warehouse first; until then the replica is not replaced.' }];",
    to: '',
    tests: ['test/cli/doctor.test.ts'],
  },
  {
    file: 'src/operations/doctor/check-requests.ts',
    from: "skewMs < 0 ? 'ahead of' : 'behind'",
    to: "skewMs > 0 ? 'ahead of' : 'behind'",
    tests: ['test/cli/doctor.test.ts'],
  },
  {
    file: 'src/operations/doctor/doctor.ts',
    from: '(major === least && minor >= leastMinor)',
    to: 'major === least',
    tests: ['test/cli/doctor.test.ts'],
  },
  // Backup, restore, replay
  {
    file: 'src/operations/backup/backup.ts',
    from: '  const path = await checkNotOwnFile(folder, output, output);',
    to: '  const path = join(dirname(output), basename(output));',
    tests: ['test/cli/backup.test.ts'],
  },
  {
    file: 'src/operations/backup/restore.ts',
    from: '    await keepOld(warehouse, kept, old);\n',
    to: '',
    tests: ['test/cli/backup.test.ts'],
  },
  {
    file: 'src/operations/replay.ts',
    from: 'if (kept !== null) await keepOld(layout.warehouse, kept, old);',
    to: '',
    tests: ['test/cli/replay.test.ts'],
  },
  {
    file: 'src/operations/replay.ts',
    from: 'if (existsSync(path)) throw new',
    to: 'if (existsSync(path) && request.only !== null) throw new',
    tests: ['test/cli/replay.test.ts'],
  },
  // Verification
  {
    file: 'src/operations/verify.ts',
    from: 'if (last !== undefined && addDays(last.to, 1) === day) last.to = day;',
    to: 'if (last !== undefined) last.to = day;',
    tests: ['test/cli/verify.test.ts'],
  },
  {
    file: 'src/operations/verify.ts',
    from: '    if (request.fresh) await sync(',
    to: '    if (request.fresh && request.repair) await sync(',
    tests: ['test/cli/verify.test.ts'],
  },
  {
    file: 'src/operations/verify.ts',
    from: 'for (const day of eachDay(from, to)) wrong.add(day);',
    to: 'for (const day of eachDay(from, from)) wrong.add(day);',
    tests: ['test/cli/verify.test.ts'],
  },
  // Status and records
  {
    file: 'src/cli/commands/operate/status-command.ts',
    from: 'const checked = !check ? EXIT.done : isError ? EXIT.partial :',
    to: 'const checked = !check || isError ? EXIT.done :',
    tests: ['test/cli/records.test.ts'],
  },
  // Output with --json
  {
    file: 'src/cli/output/sync-summary.ts',
    from: 'return { ...result, failures, warnings, ...(error === null ? {} : errorJson(error)) };',
    to: 'return { ...result, failures, warnings, error };',
    tests: ['test/cli/json-outputs.test.ts'],
  },
  {
    file: 'src/cli/output/export-summary.ts',
    from: '({ name, rows, files: files.length, bytes })',
    to: '({ name, rows, files, bytes })',
    tests: ['test/cli/json-outputs.test.ts'],
  },
];
