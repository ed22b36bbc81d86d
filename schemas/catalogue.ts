import { importSiblings } from '../src/base/files.ts';
import type { ResourceDeclaration } from '../src/contract/resource.ts';

/** The declarations in this folder, in the order of documents and menus. */
export const declarations: readonly ResourceDeclaration[] = await importSiblings(import.meta.url);
