import { chooseNamed, type Named } from '../../../base/choose-name.ts';
import { SightlineError, toSightlineError } from '../../../base/errors.ts';
import { isRecord, memberAt } from '../../../base/json.ts';
import { listerOf, type Resource } from '../../../contract/catalogue.ts';
import { isUuid } from '../../../contract/query-parameters.ts';
import type { Question, Service } from '../../../read/service.ts';
import { sourceOf } from './describe-tool.ts';
import { type EndpointShape, pathParametersOf, takesName } from './endpoint-shape.ts';

/** Arguments of a request to REST. */
export interface ToolInput {
  /** Values of the path parameters, by name. */
  readonly path: Readonly<Record<string, string>>;
  readonly given: URLSearchParams;
}

/** A validated request, and its arguments with ids. */
export interface Asked {
  readonly question: Question;
  readonly input: ToolInput;
}

/**
 * Validates a tool call like REST. If REST rejects an argument that is a name from a short list (brands, competitors, tags, topics,
 * engines), replaces the name with its id and validates again.
 *
 * @throws SightlineError like the service; for an unknown name its hint has the known names and the nearest one
 */
export async function askByName(
  service: Service,
  tool: EndpointShape,
  input: ToolInput,
  signal: AbortSignal,
): Promise<Asked> {
  const { resource } = tool;
  try {
    return { question: await service.ask(resource, input.path, input.given), input };
  } catch (thrown) {
    if (!(thrown instanceof SightlineError) || !['not_found', 'invalid_parameter'].includes(thrown.code)) throw thrown;
    const named = await withIds(service, tool, input, signal).catch((reason: unknown) => {
      if (!(reason instanceof SightlineError) || reason.code !== 'usage') throw reason;
      const { parameter } = reason.facts;
      // REST rejected a name in the path that is known, so its error is not about the unknown name.
      if (thrown.code === 'not_found' && parameter !== undefined && !tool.inPath.includes(parameter))
        throw new SightlineError('invalid_parameter', reason.message, { parameter, cause: reason });
      throw new SightlineError(thrown.code, thrown.message, { hint: sentenceOf(reason.message), cause: reason });
    });
    if (named === null) throw thrown;
    return { question: await service.ask(resource, named.path, named.given), input: named };
  }
}

/**
 * Returns a sentence for each filter whose id is not in its list, such as the id of a deleted topic. The API accepts such an id and
 * returns zeros, which a model would report as a result.
 */
export async function unknownIds(
  service: Service,
  { inQuery }: EndpointShape,
  { path, given }: ToolInput,
  signal: AbortSignal,
): Promise<string[]> {
  const remarks: string[] = [];
  for (const { name, parameter } of inQuery) {
    const id = given.get(name) ?? '';
    const source = sourceOf(service.catalogue, name, parameter);
    if (parameter.kind !== 'uuid' || !isUuid(id) || source?.paging !== 'single') continue;
    // Requests the complete list, for example with paused prompts.
    const all = new URLSearchParams();
    for (const [one, { filter }] of Object.entries(source.query)) if (filter?.by === 'inclusion') all.set(one, 'true');
    const own = Object.fromEntries(pathParametersOf(source).map((one) => [one, path[one] ?? '']));
    const question = await service.ask(source, own, all);
    const { body } = await question.answer(signal);
    const ids = listedRows(source, name, body).map((row) => row['id']);
    // Items of unknown form may have their id in another field.
    if (!ids.every((known) => typeof known === 'string')) continue;
    if (ids.some((known) => known.toLowerCase() === id.toLowerCase())) continue;
    const noun = name.replace(/Id$/, '');
    remarks.push(
      `No ${noun} has the id ${id} now, so rows may be missing and numbers zero; \`${source.tool}\` lists the known ones.`,
    );
  }
  return remarks;
}

// Returns null if no argument is a name.
async function withIds(
  service: Service,
  tool: EndpointShape,
  input: ToolInput,
  signal: AbortSignal,
): Promise<ToolInput | null> {
  const { catalogue } = service;
  const path: Record<string, string> = { ...input.path };
  const given = new URLSearchParams(input.given);
  let isChanged = false;
  for (const name of tool.inPath) {
    const source = listerOf(catalogue, tool.resource, name);
    const value = path[name] ?? '';
    if (isUuid(value) || !takesName(source)) continue;
    path[name] = await chooseId(service, source, { name, value, path }, signal);
    isChanged = true;
  }
  for (const { name, parameter } of tool.inQuery) {
    const value = given.get(name) ?? '';
    const source = sourceOf(catalogue, name, parameter);
    if (value === '' || isUuid(value) || !takesName(source)) continue;
    const id = await chooseId(service, source, { name, value, path, field: parameter.oneOf?.field }, signal);
    isChanged ||= id !== value;
    given.set(name, id);
  }
  return isChanged ? { path, given } : null;
}

/** An argument that is not an id. */
interface NamedArgument {
  readonly name: string;
  readonly value: string;
  /** Values of the path parameters, with ids. */
  readonly path: Readonly<Record<string, string>>;
  /** Field with the allowed values, if it is not the id. */
  readonly field?: string | undefined;
}

async function chooseId(
  service: Service,
  source: Resource,
  { name, value, path, field }: NamedArgument,
  signal: AbortSignal,
): Promise<string> {
  const own = Object.fromEntries(pathParametersOf(source).map((parameter) => [parameter, path[parameter] ?? '']));
  const question = await service.ask(source, own, new URLSearchParams());
  const { body } = await question.answer(signal);
  const known = listedRows(source, name, body).map((row): Named => ({
    id: String(row[field ?? source.provides?.id ?? 'id']),
    name: typeof row['name'] === 'string' ? row['name'] : null,
  }));
  try {
    return chooseNamed(name.replace(/Id$/, ''), value, known).id;
  } catch (thrown) {
    const { code, message } = toSightlineError(thrown);
    throw new SightlineError(code, message, { parameter: name, cause: thrown });
  }
}

function sentenceOf(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}${text.endsWith('?') ? '' : '.'}`;
}

// The rows of the list that the argument is named after (`tagId`: `tags`), or of all lists of the response.
function listedRows(source: Resource, argument: string, body: unknown): Readonly<Record<string, unknown>>[] {
  if (Array.isArray(body)) return body.filter(isRecord);
  const table = `${argument.replace(/Id$/, '')}s`;
  const own = source.tables.filter(({ name }) => name === table);
  const lists = (own.length > 0 ? own : source.tables).flatMap(({ at }) => (at === 'body' ? [] : [at.list]));
  return lists.flatMap((list) => memberAt(body, list)).filter(isRecord);
}
