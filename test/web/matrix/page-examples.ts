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
  /** Selects elements with numbers that the page computes. All other numbers are those of its requests. */
  readonly computed?: string;
  /** Sentences that the page shows if upstream defines its measures in another way. */
  readonly notes?: readonly string[];
}

/** Notes about measures that upstream defines in another way, by the name of the measure or column. */
export const NOTES = {
  share_of_voice: 'The API also counts mentions of competitors that are no longer tracked.',
  page_title: 'Pages have their latest title here, and the API shows the first title.',
  citation_share: 'The API’s share is the responses that cite the domain, as a share of all responses.',
  citations: 'In the API’s number a page counts once in a response.',
} as const;

/**
 * Addresses of each page, by its title in the registry. The first address of a page is opened in every world, and the others, which show
 * another view of the page, in the worlds with all kinds of data. Add a line for a new page; a test requires it.
 */
export const PAGE_EXAMPLES: Readonly<Record<string, readonly PageExample[]>> = {
  Overview: [{ ...at('/'), notes: [NOTES.share_of_voice, NOTES.citation_share] }],
  Prompts: [at('/prompts')],
  Prompt: [{ name: 'prompt', path: ({ prompt }) => `/prompts/${prompt}` }],
  Responses: [at('/responses')],
  Response: [{ name: 'response', path: ({ response }) => `/responses/${response}` }],
  Competitors: [
    at('/competitors'),
    { name: 'competitor', path: ({ competitor }) => `/competitors?competitor=${competitor}` },
  ],
  Sources: [
    { ...at('/sources'), notes: [NOTES.citation_share, NOTES.citations] },
    { ...at('/sources?view=pages'), notes: [NOTES.citations, NOTES.page_title] },
    at('/sources?view=gaps'),
    { name: 'domain', path: ({ domain }) => `/sources?domain=${encodeURIComponent(domain)}` },
  ],
  'Topics and tags': [at('/topics'), at('/topics?view=tag'), at('/topics?view=branded')],
  // Tiles are sums of the sources.
  Traffic: [{ ...at('/traffic'), computed: '.tile-value' }],
  Content: [
    at('/content'),
    at('/content?view=actions'),
    at('/content?view=forum'),
    { name: 'article', path: ({ article }) => `/content?article=${article}` },
  ],
  Opportunities: [at('/opportunities')],
  Reports: [at('/reports')],
  Explain: [at('/explain'), at('/explain?view=position')],
  Alerts: [at('/alerts')],
  // Differences of two sides.
  Compare: [
    { ...at('/compare'), computed: '[data-value]' },
    { ...at('/compare?of=period'), computed: '[data-value]' },
  ],
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
