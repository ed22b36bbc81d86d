import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Resource } from '../../contract/catalogue.ts';
import type { Service } from '../../read/service.ts';
import { entityTag } from './content/etag.ts';
import { contentTypeOf, type Encoding } from './content/negotiation.ts';
import { sendEncoded } from './content/send.ts';

/** Input of the document handler. */
export interface DocumentParts {
  readonly service: Service;
  /** Base URL of the API: absolute, or only the path if the host is not known. */
  readonly baseUrl: () => string;
  readonly rateLimit: number | 'off';
  /** Whether the site has the data of pages. */
  readonly hasData: boolean;
}

interface Document {
  readonly learned: string;
  readonly version: string;
  readonly plain: Buffer;
  readonly packed: Map<Encoding, Buffer>;
}

/**
 * Creates the handler of the OpenAPI document. The document is public, so it is written once, at the first request, and again
 * only when the data reveal a new parameter name, envelope or form of values.
 */
export function createDocumentHandler(parts: DocumentParts) {
  const { service, baseUrl, rateLimit, hasData } = parts;
  const { catalogue } = service;
  let document: Document | null = null;
  const write = async (learned: string): Promise<Document> => {
    const { createOpenApi } = await import('../openapi/openapi-document.ts');
    const limit = rateLimit === 'off' ? null : rateLimit;
    const { namesOf, isBare } = service;
    const writersOf = (resource: Resource) => service.formsOf(resource)?.writers ?? null;
    const learnedParts = { catalogue, namesOf, isBare, writersOf };
    const value = createOpenApi({ ...learnedParts, baseUrl: baseUrl(), rateLimit: limit, hasData });
    const plain = Buffer.from(JSON.stringify(value));
    const version = createHash('sha256').update(plain).digest('hex').slice(0, 32);
    return { learned, version, plain, packed: new Map() };
  };
  const current = async (): Promise<Document> => {
    // Parameter names, envelopes and forms of values learned from the data are known only after the replica was opened.
    await service.freshness();
    const forms = catalogue.resources.map((resource) => [
      service.namesOf(resource),
      service.isBare(resource),
      service.formsOf(resource)?.text,
    ]);
    const learned = JSON.stringify(forms);
    if (document?.learned !== learned) document = await write(learned);
    return document;
  };
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const { version, plain, packed } = await current();
    return sendEncoded(request, reply, {
      mediaType: contentTypeOf('json'),
      cacheControl: 'no-cache',
      length: plain.length,
      tagOf: (encoding) => entityTag(version, 'json', encoding),
      read: () => plain,
      packed,
    });
  };
}
