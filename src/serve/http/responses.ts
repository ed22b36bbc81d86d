import { toExactJson } from '../../base/json.ts';
import { createRowEncoder } from '../../read/formats/row-formats.ts';
import type { Answer, Question } from '../../read/service.ts';
import { COMPRESSED_BYTES_MIN, compress } from './content/compression.ts';
import { type Content, createContentCache, toBody, toBytes } from './content/content-cache.ts';
import { contentTypeOf, type Encoding, type Format } from './content/negotiation.ts';
import type { HttpLimits } from './http-limits.ts';
import { createSingleFlight } from './single-flight.ts';

/** A response that can be computed; responses with equal versions are equal. */
export type Computable = Pick<Question, 'version' | 'answer'>;

/** Encoded responses: cached, computed once for identical requests, and compressed once per encoding. */
export interface Answers {
  /** Returns a cached response, or undefined. */
  kept(question: Computable, format: Format, encoding: Encoding): Content | undefined;
  /**
   * Computes a response, or waits for the identical one being computed.
   *
   * @throws SightlineError `overloaded`; also whatever `Question.answer` throws
   */
  compute(question: Computable, format: Format, encoding: Encoding, client: AbortSignal): Promise<Content>;
  readonly running: number;
  readonly waiting: number;
  readonly cachedBytes: number;
}

/** Creates an empty response store. */
export function createAnswers(limits: Pick<HttpLimits, 'cacheBytesMax' | 'computationsMax'>): Answers {
  const cache = createContentCache(limits.cacheBytesMax);
  const plain = createSingleFlight<Content>(limits.computationsMax);
  // Not limited separately: each compression waits for a limited computation or already has its bytes.
  const packed = createSingleFlight<Content>(Number.POSITIVE_INFINITY);

  const computePlain = async (question: Computable, format: Format, client: AbortSignal): Promise<Content> => {
    const key = keyOf(question, format, 'identity');
    return (
      cache.get(key) ??
      plain.join(key, client, async (signal) => {
        const answer = await question.answer(signal);
        const content = await write(answer, format);
        cache.set(key, content);
        return content;
      })
    );
  };
  const compute = async (
    question: Computable,
    format: Format,
    encoding: Encoding,
    client: AbortSignal,
  ): Promise<Content> => {
    if (encoding === 'identity') return computePlain(question, format, client);
    const key = keyOf(question, format, encoding);
    return packed.join(key, client, async (signal) => {
      const content = await pack(await computePlain(question, format, signal), encoding);
      cache.set(key, content);
      return content;
    });
  };
  return {
    kept: (question, format, encoding) => cache.get(keyOf(question, format, encoding)),
    compute,
    get running() {
      return plain.running;
    },
    get waiting() {
      return plain.waiting + packed.waiting;
    },
    get cachedBytes() {
      return cache.bytes;
    },
  };
}

function keyOf({ version }: Computable, format: Format, encoding: Encoding): string {
  return `${version} ${format} ${encoding}`;
}

// Endpoints without rows respond in JSON, whatever format was requested.
async function write(answer: Answer, format: Format): Promise<Content> {
  const { nextCursor } = answer;
  const list = format === 'json' ? null : answer.list;
  if (format === 'json' || list === null) {
    const body = toBody(Buffer.from(answer.json ?? toExactJson(answer.body)));
    return { body, mediaType: contentTypeOf('json'), encoding: null, nextCursor };
  }
  const encoder = await createRowEncoder(format);
  const bytes = Buffer.concat([await encoder.encode(list), await encoder.end(nextCursor)]);
  return { body: toBody(bytes), mediaType: contentTypeOf(format), encoding: null, nextCursor };
}

// Parquet is already compressed internally, so compressing it again gains nothing.
async function pack(content: Content, encoding: Exclude<Encoding, 'identity'>): Promise<Content> {
  if (content.body.length < COMPRESSED_BYTES_MIN || content.mediaType === contentTypeOf('parquet')) return content;
  return { ...content, body: toBody(await compress(toBytes(content.body), encoding)), encoding };
}
