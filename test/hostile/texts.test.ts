import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tableFromIPC } from 'apache-arrow';
import { readXlsx } from 'hucre/xlsx';
import { beforeAll, describe, expect, it } from 'vitest';
import { RESULT_TOKENS } from '../../src/serve/mcp/tool-result.ts';
import { openScratch } from '../../src/warehouse/scratch.ts';
import { shareCli } from '../cli/helpers.ts';
import { openServer } from '../serve/http/support.ts';
import { call, connect, startBareMcp } from '../serve/mcp/support.ts';

/** Texts that a format or a reader can change. */
const TEXTS = [
  '\ufeffbegins with a byte order mark',
  `\ufeff${'long enough to be stored beside its length '.repeat(2)}`,
  '\ufeff',
  '\ufeff\ufefftwo',
  'in the mid\ufeffdle',
  ' spaces around ',
  '\ttab\t',
  '\u00a0no-break space\u00a0',
  'line\nfeed',
  'carriage\r\nreturn',
  'only\rcarriage return',
  'separators \u2028 and \u2029',
  'next line \u0085',
  '"quoted"',
  "it's",
  'a,b;c|d',
  '\\N',
  'back\\slash',
  'NULL',
  'null',
  'true',
  '007',
  '1e5',
  '2026-01-01',
  '12345678901234567890',
  '=1+1',
  '+1',
  '-1',
  '@sum(1)',
  '<b>&amp;</b>',
  ']]>',
  '_x000D_ and _x0041_',
  '{"a":1}',
  '$' + '{x} {{y}} %s',
  'e\u0301 composed \u00e9',
  '\u202eright to left\u202c \u05d0\u05d1',
  '\u{1f468}\u200d\u{1f469}\u200d\u{1f467} \u{1f1e9}\u{1f1ea}',
  '\u6f22\u5b57 \u{20000}',
  'noncharacters \ufffe \uffff',
  'delete \u007f',
  'control \u0001 \u001b[31m',
  'x'.repeat(32_767),
] as const;
const cli = shareCli({ brands: 1, prompts: TEXTS.length, days: 1, responsesPerDay: 1 });

beforeAll(async () => {
  const { prompts = [] } = cli.sandbox.world.brands[0] ?? {};
  for (const [index, text] of TEXTS.entries()) Object.assign(prompts[index] ?? {}, { text });
  const { code, stderr } = await cli.run('sync', '--only', 'prompts');
  expect(code, stderr).toBe(0);
});

interface Prompts {
  readonly data: readonly { readonly text: string }[];
}

const sorted = (texts: readonly unknown[]): unknown[] => [...texts].map(String).sort();
const expectTexts = (texts: readonly unknown[]): void => expect(sorted(texts)).toEqual(sorted(TEXTS));

/** Reads a file with DuckDB. */
async function readWith(reader: string): Promise<unknown[]> {
  const scratch = await openScratch({ memoryLimitMb: 256, temporaryFolder: cli.folder });
  try {
    return (await scratch.all(`SELECT text FROM ${reader}`)).map(({ text }) => text);
  } finally {
    scratch.close();
  }
}

const csvOf = (path: string) =>
  `read_csv('${path}', all_varchar = true, header = true, delim = ',', quote = '"', escape = '"', nullstr = '', max_line_size = 1000000)`;

describe('texts leave unchanged through', () => {
  it.each(['csv', 'json', 'ndjson', 'parquet'])('sql, as %s', async (format) => {
    const path = join(cli.folder, `rows.${format}`);
    const { code, stderr } = await cli.run('sql', 'select text from prompts', '--output', path);
    expect(code, stderr).toBe(0);
    if (format === 'json')
      expectTexts(JSON.parse(await readFile(path, 'utf8')).map(({ text }: { text: string }) => text));
    else if (format === 'ndjson') expectTexts(linesOf(await readFile(path, 'utf8')));
    else expectTexts(await readWith(format === 'csv' ? csvOf(path) : `'${path}'`));
  });

  it.each(['csv', 'ndjson', 'arrow', 'parquet'])('export, as %s', async (format) => {
    const { code, stderr } = await cli.run('export', '--tables', 'prompts', '--format', format, '--output', format);
    expect(code, stderr).toBe(0);
    const path = join(cli.folder, format, `prompts.${format === 'arrow' ? 'arrows' : format}`);
    if (format === 'ndjson') expectTexts(linesOf(await readFile(path, 'utf8')));
    else if (format === 'arrow') expectTexts(textsOfArrow(await readFile(path)));
    else expectTexts(await readWith(format === 'csv' ? csvOf(path) : `'${path}'`));
  });

  it('export, as a workbook', async () => {
    const { code, stderr } = await cli.run('export', '--tables', 'prompts', '--format', 'xlsx', '--output', 'book');
    expect(code, stderr).toBe(0);
    const [name = ''] = (await readdir(join(cli.folder, 'book'))).filter((file) => file.endsWith('.xlsx'));
    const book = await readXlsx(await readFile(join(cli.folder, 'book', name)));
    const rows = book.sheets.find(({ name }) => name === 'prompts')?.rows ?? [];
    const at = rows[0]?.indexOf('text') ?? -1;
    expectTexts(rows.slice(1).map((row) => row[at]));
  });

  it('/v1, as JSON, and MCP', async () => {
    const server = await openServer(join(cli.data, 'analytics.duckdb'));
    const brand = cli.sandbox.world.brands[0]?.id;
    const body = (await (await server.get(`/brands/${brand}/prompts?includePaused=true`)).json()) as Prompts;
    expectTexts(body.data.map(({ text }) => text));
    const client = await connect(await startBareMcp(server.service, {}));
    const { content, text } = await call(client, 'list_prompts', {
      brandId: brand,
      includePaused: true,
      maxTokens: RESULT_TOKENS.most,
    });
    expect(content, text).toBeDefined();
    expectTexts((content as Prompts).data.map(({ text }: { text: string }) => text));
  });
});

function linesOf(text: string): unknown[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => (JSON.parse(line) as { text: string }).text);
}

// The library decodes without a leading U+FEFF.
function textsOfArrow(bytes: Uint8Array): string[] {
  const chunks = tableFromIPC(bytes).getChild('text')?.data ?? [];
  return chunks.flatMap(({ valueOffsets, values, length }) =>
    Array.from({ length }, (_, row) => Buffer.from(values.slice(valueOffsets[row], valueOffsets[row + 1])).toString()),
  );
}
