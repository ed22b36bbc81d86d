/** Values of a world that addresses of pages need. All belong to the first brand. */
export interface ExampleIds {
  readonly prompt: string;
  readonly response: string;
  readonly competitor: string;
  readonly domain: string;
  readonly article: string;
}

/** An address of a page with example parameters. */
export interface PageExample {
  readonly name: string;
  readonly path: (ids: ExampleIds) => string;
  /** Whether the page shows no name of upstream. */
  readonly isWithoutNames?: true;
}

/**
 * Addresses of each page, by its title in the registry. The first address of a page is opened in every world, and the others, which show
 * another view of the page, in the worlds with all kinds of data. Add a line for a new page; a test requires it.
 */
export const PAGE_EXAMPLES: Readonly<Record<string, readonly PageExample[]>> = {
  Overview: [at('/')],
  Prompts: [at('/prompts')],
  Prompt: [{ name: 'prompt', path: ({ prompt }) => `/prompts/${prompt}` }],
  Responses: [at('/responses')],
  Response: [{ name: 'response', path: ({ response }) => `/responses/${response}` }],
  Competitors: [
    at('/competitors'),
    { name: 'competitor', path: ({ competitor }) => `/competitors?competitor=${competitor}` },
  ],
  Sources: [
    at('/sources'),
    at('/sources?view=pages'),
    at('/sources?view=gaps'),
    { name: 'domain', path: ({ domain }) => `/sources?domain=${encodeURIComponent(domain)}` },
  ],
  'Topics and tags': [at('/topics'), at('/topics?view=tag')],
  Traffic: [at('/traffic')],
  Content: [
    at('/content'),
    at('/content?view=actions'),
    at('/content?view=forum'),
    { name: 'article', path: ({ article }) => `/content?article=${article}` },
  ],
  Alerts: [at('/alerts')],
  Compare: [at('/compare'), at('/compare?of=period')],
  SQL: [{ ...at('/sql'), isWithoutNames: true }],
  Operations: [at('/operations')],
  'Sign in': [{ ...at('/sign-in'), isWithoutNames: true }],
  'Set up': [{ ...at('/setup'), isWithoutNames: true }],
  // Shown at every address of a workspace without data.
  'First sync': [{ ...at('/responses?range=7d'), isWithoutNames: true }],
};

/** Pages of servers with several workspaces, which test/web/fleet-page.test.ts opens. */
export const FLEET_PAGES: readonly string[] = ['Workspaces'];

function at(path: string): PageExample {
  return { name: path, path: () => path };
}
