import type { Shape } from './shape.ts';
import { keyShapes } from './shapes-keys.ts';
import { pagingShapes } from './shapes-paging.ts';
import { scopeShapes } from './shapes-scopes.ts';
import { valueShapes } from './shapes-values.ts';

/** All endpoints of the test upstream besides those of the specified API. */
export const shapes: readonly Shape[] = [...pagingShapes, ...scopeShapes, ...keyShapes, ...valueShapes];
