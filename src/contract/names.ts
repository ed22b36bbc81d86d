/** Turns an API field name into its column name: `brandMentioned` becomes `brand_mentioned`. */
export function toColumnName(field: string): string {
  return field
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1_$2')
    .toLowerCase();
}
