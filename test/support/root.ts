/** The root of the project with a trailing slash, also from compiled code such as the benchmarks. */
export const ROOT = new URL(import.meta.url.includes('/dist/test/') ? '../../../' : '../../', import.meta.url);
