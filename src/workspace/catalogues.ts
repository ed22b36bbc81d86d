import { declarations } from '../../schemas/catalogue.ts';
import type { WorkspaceConfig } from '../base/config/config.ts';
import { type Catalogue, createCatalogue } from '../contract/catalogue.ts';
import { declareForms } from '../contract/generic/generic-declarations.ts';
import { layoutOf } from '../publish/snapshot/layout.ts';
import { readStoredForms } from './stored-forms-file.ts';

/** The declared resources. */
export const builtInCatalogue = createCatalogue(declarations);

/**
 * Returns the resources of a workspace: the declared ones, and those that were inferred for the endpoints without a declaration when
 * the replica was published.
 */
export function catalogueOf({ folder }: Pick<WorkspaceConfig, 'folder'>): Catalogue {
  const forms = readStoredForms(layoutOf(folder).endpoints);
  if (forms.length === 0) return builtInCatalogue;
  return createCatalogue([...declarations, ...declareForms(declarations, forms)]);
}
