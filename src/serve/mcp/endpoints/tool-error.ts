import type { CallToolResult } from '@modelcontextprotocol/server';
import { errorTable, type SightlineError } from '../../../base/errors.ts';
import { type Catalogue, listerOf } from '../../../contract/catalogue.ts';
import type { Tool } from './tool.ts';

/** Converts an error to a result for a model: what is wrong, what is allowed, the next step. Text only. */
export function toErrorResult(error: SightlineError, catalogue: Catalogue, tool: Tool): CallToolResult {
  return errorResult(error, adviceOn(error, catalogue, tool));
}

/** Returns a result for a model about an error, with the next step. */
export function errorResult(error: SightlineError, advice: string): CallToolResult {
  const text = `${error.code}: ${sentenceOf(error)}\n${advice}`;
  return { isError: true, content: [{ type: 'text', text }] };
}

// The message of an internal error goes to the log only, because it may contain details that clients must not see.
function sentenceOf({ code, message }: SightlineError): string {
  return code === 'internal' ? errorTable.internal.about : message;
}

function adviceOn({ code, hint }: SightlineError, catalogue: Catalogue, tool: Tool): string {
  switch (code) {
    case 'invalid_parameter': {
      const { required = [], properties = {} } = tool.definition.inputSchema as InputSchema;
      const names = Object.keys(properties).map((name) => (required.includes(name) ? `${name} (required)` : name));
      const known = names.length === 0 ? 'none' : names.join(', ');
      return `${hint} Arguments of ${tool.definition.name}: ${known}.`;
    }
    // The hint of the error table is for operators of a sync.
    case 'not_found': {
      const sources = tool.inPath.map((name) => `${name} from ${listerOf(catalogue, tool.resource, name).tool}`);
      const own = hint === errorTable.not_found.hint ? '' : `${hint} `;
      return sources.length === 0 ? 'Unknown resource.' : `${own}Take ${sources.join(', ')}.`;
    }
    case 'overloaded':
      return 'Try again in a few seconds.';
    default:
      return hint;
  }
}

interface InputSchema {
  readonly required?: readonly string[];
  readonly properties?: object;
}
