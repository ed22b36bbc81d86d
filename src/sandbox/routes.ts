import type { ResourceDeclaration } from '../contract/resource.ts';

/** A declared endpoint and the values of its path parameters. */
export interface Match {
  readonly declaration: ResourceDeclaration;
  readonly path: Readonly<Record<string, string>>;
}

/** Returns the declaration for a path relative to the base URL, or undefined. */
export type Router = (path: string) => Match | undefined;

/** Creates a router. A literal segment takes precedence over a parameter at the same position. */
export function createRouter(declarations: readonly ResourceDeclaration[]): Router {
  const routes = declarations
    .map((declaration) => ({ declaration, segments: segmentsOf(declaration.path) }))
    .sort((a, b) => parametersIn(a.segments) - parametersIn(b.segments));
  return (path) => {
    const given = segmentsOf(path);
    for (const { declaration, segments } of routes) {
      const values = matchSegments(segments, given);
      if (values !== undefined) return { declaration, path: values };
    }
    return undefined;
  };
}

function segmentsOf(path: string): string[] {
  return path.split('/').slice(1);
}

function parametersIn(segments: readonly string[]): number {
  return segments.filter((segment) => segment.startsWith('{')).length;
}

function matchSegments(pattern: readonly string[], given: readonly string[]): Record<string, string> | undefined {
  if (pattern.length !== given.length) return undefined;
  const values: Record<string, string> = {};
  for (const [index, segment] of pattern.entries()) {
    const value = given[index] as string;
    if (segment.startsWith('{')) values[segment.slice(1, -1)] = decode(value);
    else if (segment !== value) return undefined;
  }
  return values;
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
