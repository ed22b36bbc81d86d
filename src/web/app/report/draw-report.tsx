import { parseHTML } from 'linkedom';
import { renderToString } from 'preact-render-to-string';
import type { Brief } from '../../../metrics/explain/brief-result.ts';
import type { DrawnReport, ReportInput } from '../../report/report-types.ts';
import { svgFile } from '../charts/svg-file.ts';
import { type Api, queryOf } from '../state/api.ts';
import { ApiContext } from '../state/data.tsx';
import { createFormat } from '../state/format.ts';
import { type Paper, type PaperChart, PaperContext } from '../state/paper.ts';
import { StaticRoute } from '../state/router.tsx';
import { ScopeProvider } from '../state/scope.tsx';
import { ReportPage } from './report-page.tsx';
import base from '../styles/base.css?inline';
import components from '../styles/components.css?inline';
import frame from '../styles/frame.css?inline';
import tokens from '../styles/tokens.css?inline';
import styles from './report.css?inline';

/** Drawings until all tables are known: the brands, the filters, the numbers, and what depends on them. */
const PASSES_MAX = 8;

/** Draws the components of the data pages with the tables of `read`, until they have asked for no further table. */
export async function drawReport(input: ReportInput): Promise<DrawnReport> {
  const tables = new Map<string, unknown>();
  for (let pass = 0; pass < PASSES_MAX; pass++) {
    const missing = new Set<string>();
    const charts = new Map<string, PaperChart>();
    const body = draw(input, tables, missing, charts);
    if (missing.size === 0)
      return { html: page(titleOf(input, tables), sentenceOf(tables), body), charts: filesOf(charts) };
    for (const url of missing) {
      const [path = '', search = ''] = url.split('?');
      tables.set(url, await input.read(path, new URLSearchParams(search)));
    }
  }
  throw new Error(`the report asks for further tables after ${PASSES_MAX} drawings`);
}

function draw(
  input: ReportInput,
  tables: ReadonlyMap<string, unknown>,
  missing: Set<string>,
  charts: Map<string, PaperChart>,
): string {
  const never = (): never => {
    throw new Error('a report does not wait for requests');
  };
  const api: Api = {
    base: input.address,
    get: never,
    peek<T>(path: string, params: Parameters<typeof queryOf>[0]): T | null {
      const url = `${path}${queryOf(params)}`;
      if (!tables.has(url)) missing.add(url);
      return (tables.get(url) ?? null) as T | null;
    },
    send: never,
    onChange: () => () => undefined,
    changed: () => undefined,
    setCsrf: () => undefined,
    onRefused: () => () => undefined,
    refused: () => undefined,
  };
  const paper: Paper = { document: createDocument(), keep: (chart) => charts.set(chart.title, chart) };
  const { brand, range, compareTo } = input;
  const search = new URLSearchParams({ brand, ...range, compare_to: compareTo });
  const route = { base: input.address, path: '/', search, navigate: never };
  return renderToString(
    <PaperContext.Provider value={paper}>
      <ApiContext.Provider value={api}>
        <StaticRoute route={route}>
          <ScopeProvider>
            <ReportPage input={input} />
          </ScopeProvider>
        </StaticRoute>
      </ApiContext.Provider>
    </PaperContext.Provider>,
  );
}

function titleOf({ brand }: ReportInput, tables: ReadonlyMap<string, unknown>): string {
  const { rows = [] } = (tables.get('/data/queries/brands') ?? {}) as { rows?: readonly (readonly unknown[])[] };
  return `${rows.find(([id]) => id === brand)?.[1] ?? brand}: visibility in AI responses`;
}

// The first sentence of the report, which the list of reports shows.
function sentenceOf(tables: ReadonlyMap<string, unknown>): string {
  const [, brief] = [...tables].find(([url]) => url.startsWith('/data/brief?')) ?? [];
  return (brief as Brief | undefined)?.headline ?? '';
}

function page(title: string, sentence: string, body: string): string {
  const css = [tokens, base, frame, components, styles].join('\n');
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
${renderToString(<meta name="description" content={sentence} />)}${renderToString(<title>{title}</title>)}<style>${css}</style></head>
<body>${body}</body></html>
`;
}

/** Creates an empty document, in which charts are drawn without a browser. */
export function createDocument(): Document {
  return parseHTML('<!doctype html><html><body></body></html>').document as unknown as Document;
}

function filesOf(charts: ReadonlyMap<string, PaperChart>): DrawnReport['charts'] {
  const format = createFormat();
  return [...charts.values()].map((chart) => ({
    name: chart.title.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-'),
    svg: svgFile(chart, format, createDocument()),
  }));
}
