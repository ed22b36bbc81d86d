/** The root of the project, with a slash at its end; also where tests are compiled, as benchmarks are. */
export const ROOT = new URL(import.meta.url.includes('/dist/test/') ? '../../../' : '../../', import.meta.url);
