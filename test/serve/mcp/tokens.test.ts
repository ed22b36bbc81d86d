import { describe, expect, it, onTestFinished } from 'vitest';
import { createSqlService } from '../../../src/operations/sql/sql-service.ts';
import { estimateTokens } from '../../../src/serve/mcp/estimate-tokens.ts';
import { RESULT_TOKENS } from '../../../src/serve/mcp/tool-result.ts';
import { dataTools } from '../../../src/serve/mcp/tool-set.ts';
import { builtInCatalogue as catalogue } from '../../../src/workspace/catalogues.ts';
import { serverBefore } from '../http/support.ts';
import { stillClock } from '../served-world.ts';
import { type Body, call, connect, startBareMcp } from './support.ts';

/** Bytes of the definitions of all tools, including those of SQL. */
const DEFINITIONS_BYTES_MAX = 25_600;
/** Bytes of a result of the standard size in a small workspace. */
const RESULT_BYTES_MAX = 19_000;

const server = serverBefore({}, 'small');

/** Texts with their tokens, as counted by the tokenizer o200k_base. */
const latin = {
  ids: [
    '["0b1f6c5e-1c1d-4b8a-9d0e-6a3f2c7e9b41","d9383213-bd71-4e97-9bc6-c8517737eb26","6a55823d-e15b-47ea-8d52-b4e2fb7c796b","956ee308-7816-41c0-9bfe-758de9f2b53d"]',
    108,
  ],
  'a table': [
    '{"columns":["date","engine","entityType","competitorId","name","responses","mentions","visibility","shareOfVoice","avgPosition","sentiment"],"rows":[["2026-03-08","chatgpt","brand",null,"Kavárna Žluťoučký kůň",5,0,0,0,null,null],["2026-03-08","chatgpt","competitor","d9383213-bd71-4e97-9bc6-c8517737eb26","Café São João",5,3,60,37.5,1.7,25],["2026-03-08","claude","brand",null,"Kavárna Žluťoučký kůň",3,2,66.7,40,1.5,50]]}',
    179,
  ],
  prose: [
    'Brands that publish reviews of their own products are cited less often than independent magazines, but their pages are cited for longer. Most assistants name three to five brands for each question.',
    35,
  ],
  'source code': [
    "export function tokensOfJson(value: unknown): number {\n  return estimateTokens(JSON.stringify(value));\n}\n\nfunction kindOf(code: number): Kind {\n  if (code >= 48 && code <= 57) return 'digits';\n  return code < 128 ? 'marks' : 'other';\n}\n",
    61,
  ],
} as const;
const otherScripts = {
  Greek: ['Τα καλύτερα παπούτσια για τρέξιμο επιλέγονται κάθε χρόνο από ανεξάρτητους ειδικούς. ', 29],
  Chinese: ['每年独立专家都会评选最适合初学者的跑鞋，并比较价格和质量。', 23],
  emoji: ['Öl 🛢 und Kaffee ☕ '.repeat(5), 42],
} as const;

describe('the estimated tokens of a text', () => {
  it.each(Object.entries(latin))('are 92 to 125 %% of the count of a tokenizer for %s', (_, [text, counted]) =>
    expectNear(text, counted, 1.25),
  );

  it.each(Object.entries(otherScripts))('are 92 to 175 %% of the count for %s', (_, [text, counted]) =>
    expectNear(text, counted, 1.75),
  );
});

it('the definitions of all tools and their standard results are small, and tables are half the size of lists', async () => {
  const { copy, service, brandId } = server();
  const sql = createSqlService({ path: copy, catalogue, clock: stillClock });
  onTestFinished(() => sql.close());
  const client = await connect(await startBareMcp(service, {}, { sql }));
  const all = (await client.listTools()).tools;
  expect(all).toHaveLength(dataTools.length + catalogue.resources.length);
  expect(bytesOf(all)).toBeLessThan(DEFINITIONS_BYTES_MAX);
  const tools = all.slice(dataTools.length);
  for (const { name, inputSchema } of tools.filter(({ inputSchema: { required = [] } }) => required.length < 2)) {
    const values = (inputSchema.required ?? []).length === 0 ? {} : { brandId };
    const { shown, text } = await call(client, name, values);
    expect(bytesOf(shown), name).toBeLessThan(RESULT_BYTES_MAX);
    expect(estimateTokens(text), name).toBeLessThanOrEqual(RESULT_TOKENS.standard);
    if (name === 'get_daily_metrics') {
      const { data } = (await call(client, name, { ...values, maxTokens: RESULT_TOKENS.most })).shown as Body;
      const rows = data.rows.map((row: unknown[]) =>
        Object.fromEntries(row.map((value, at) => [data.columns[at], value])),
      );
      expect(bytesOf(data)).toBeLessThan(bytesOf(rows) * 0.5);
    }
  }
});

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

function expectNear(text: string, counted: number, most: number): void {
  const ratio = estimateTokens(text) / counted;
  expect(ratio).toBeGreaterThan(0.92);
  expect(ratio).toBeLessThan(most);
}
