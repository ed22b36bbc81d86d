import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createSqlService } from '../../../src/operations/sql/sql-service.ts';
import { dataTools } from '../../../src/serve/mcp/data-tools/data-tools.ts';
import { RESULT_TOKENS } from '../../../src/serve/mcp/endpoints/tool-input.ts';
import { estimateTokens } from '../../../src/serve/mcp/estimate-tokens.ts';
import { builtInCatalogue as catalogue } from '../../../src/session/catalogues.ts';
import { serverBefore } from '../http/support.ts';
import { stillClock } from '../served-world.ts';
import { type Body, call, connect, startBareMcp } from './support.ts';

/** Tokens of the definitions of all tools, including those of SQL. */
const DEFINITIONS_TOKENS_MAX = 6_000;

const server = serverBefore({}, 'small');
const root = join(import.meta.dirname, '../../..');
const uuids = JSON.stringify(Array.from({ length: 100 }, () => randomUUID()));
const times = JSON.stringify(Array.from({ length: 100 }, (_, index) => new Date(1.7e12 + index * 1e8).toISOString()));
const scripts = {
  German: 'Die schnellsten Laufschuhe für Anfänger werden jedes Jahr von unabhängigen Fachzeitschriften verglichen. ',
  Greek: 'Τα καλύτερα παπούτσια για τρέξιμο επιλέγονται κάθε χρόνο από ανεξάρτητους ειδικούς. ',
  Russian: 'Лучшие беговые кроссовки для начинающих выбирают независимые эксперты каждый год. ',
  Arabic: 'يختار الخبراء المستقلون أفضل أحذية الجري للمبتدئين كل عام. ',
  Chinese: '每年独立专家都会评选最适合初学者的跑鞋，并比较价格和质量。',
  Japanese: '初心者に最適なランニングシューズを専門家が毎年選んでいます。',
  emoji: 'Öl 🛢 und Kaffee ☕ ',
};

describe('the estimated tokens of a text', () => {
  it.each([
    ['ids', uuids, 1.6],
    ['times', times, 1.7],
    ['prose', readFileSync(join(root, 'docs/ARCHITECTURE.md'), 'utf8'), 4],
    ['source code', readFileSync(join(root, 'src/serve/mcp/truncate.ts'), 'utf8'), 4],
  ])('are 92 to 125 %% of the count of a tokenizer for %s', (_, text, perToken) => {
    const counted = countTokens(text);
    expect(text.length / counted).toBeGreaterThan(perToken * 0.85);
    expect(text.length / counted).toBeLessThan(perToken * 1.25);
    expectNear(text);
  });

  it.each(Object.entries(scripts))('are 92 to 175 %% of the count for %s', (_, text) =>
    expectNear(text.repeat(5), 1.75),
  );

  it('are 92 to 125 % of the count for the result of every tool, in both forms', async () => {
    const { copy, service, brandId } = server();
    const sql = createSqlService({ path: copy, catalogue, clock: stillClock });
    onTestFinished(() => sql.close());
    const client = await connect(await startBareMcp(service, {}, { sql }));
    const all = (await client.listTools()).tools;
    expect(all).toHaveLength(dataTools.length + catalogue.resources.length);
    expect(countTokens(JSON.stringify(all))).toBeLessThan(DEFINITIONS_TOKENS_MAX);
    const tools = all.slice(dataTools.length);
    for (const { name, inputSchema } of tools.filter(({ inputSchema: { required = [] } }) => required.length < 2)) {
      const values = (inputSchema.required ?? []).length === 0 ? {} : { brandId };
      const { text } = await call(client, name, values);
      expectNear(text);
      if (inputSchema.properties?.['plain'] === undefined) continue;
      const plain = await call(client, name, { ...values, plain: true });
      expectNear(plain.text);
      expect(countTokens(text), name).toBeLessThanOrEqual(RESULT_TOKENS.standard);
      if (name === 'get_daily_metrics') {
        const { data } = (await call(client, name, { ...values, maxTokens: RESULT_TOKENS.most })).shown as Body;
        const rows = data.rows.map((row: unknown[]) =>
          Object.fromEntries(row.map((value, at) => [data.columns[at], value])),
        );
        expect(countTokens(JSON.stringify(data))).toBeLessThan(countTokens(JSON.stringify(rows)) * 0.75);
      }
    }
  });
});

function expectNear(text: string, most = 1.25): void {
  const ratio = estimateTokens(text) / countTokens(text);
  expect(ratio, text.slice(0, 80)).toBeGreaterThan(0.92);
  expect(ratio, text.slice(0, 80)).toBeLessThan(most);
}
