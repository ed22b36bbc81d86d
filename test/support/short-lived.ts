/**
 * Environment in which DuckDB opens each database with one thread by default, unless the environment of the test run sets the
 * variable, from which DuckDB takes the number of cores. With more threads, a statement waits in a busy loop for its last thread,
 * which is a fifth of the CPU time of a sync of a small workspace.
 */
export function oneThread(): Readonly<Record<string, string>> {
  return { SLURM_CPUS_ON_NODE: process.env['SLURM_CPUS_ON_NODE'] ?? '1' };
}
