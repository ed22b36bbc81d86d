/** The types that the API documents, in the order of their colours. */
const ALERT_TYPES: readonly string[] = ['visibility_drop', 'competitor_overtake', 'new_rival_source'];

/** Returns the index of the series colour of a type. */
export function typeColour(type: string): number {
  const place = ALERT_TYPES.indexOf(type);
  return 1 + (place === -1 ? ALERT_TYPES.length : place);
}

export const typeLabel = (type: string): string => type.replaceAll('_', ' ') || 'without a type';
