/** A name that earlier builds accepted, and what replaces it. */
export interface RemovedName {
  /** Name of the setting; or words of the command, followed by its removed option if only the option was removed. */
  readonly name: string;
  /** Next step for the user, as a sentence. */
  readonly instead: string;
}

const MIRRORED = 'Remove it: endpoints that the API adds are mirrored without settings.';

/** Removed settings of the configuration file. */
export const removedSettings: readonly RemovedName[] = [
  { name: 'schemas', instead: MIRRORED },
  { name: 'openapi', instead: MIRRORED },
  { name: 'requestsPerMinute', instead: 'Remove it: the limit is that of the API. `budgetShare` uses less of it.' },
  { name: 'remote', instead: 'Set "home" to the name of a destination, which then keeps the warehouse between runs.' },
];

/** Removed values of settings. */
export const removedValues: readonly (RemovedName & { readonly value: string })[] = [
  {
    name: 'publish.kind',
    value: 'iceberg',
    instead: 'Remove `publish`, and set `destinations` with "kind": "iceberg" and the URL of a REST catalog.',
  },
];

/** Removed commands and options. */
export const removedCommands: readonly RemovedName[] = [
  { name: 'state export', instead: '`sightline backup` copies the state with the rows.' },
  { name: 'state import', instead: '`sightline restore` restores the state with the rows.' },
  { name: 'endpoints --declaration', instead: 'Undeclared endpoints are mirrored without a declaration.' },
  { name: 'metrics query --by', instead: 'Rename the option to --group-by.' },
  {
    name: 'metrics export --format',
    instead: 'Leave the option out: the command writes files for dbt and MetricFlow.',
  },
];
