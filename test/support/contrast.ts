// WCAG 2.2, https://www.w3.org/TR/WCAG22/#dfn-relative-luminance and #dfn-contrast-ratio.

/** Returns the relative luminance, 0 to 1, of a computed CSS colour such as `rgb(17, 24, 39)`. */
export function luminance(colour: string): number {
  const [r = 0, g = 0, b = 0] = (colour.match(/[\d.]+/g) ?? []).map((part) => {
    const value = Number(part) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** Returns the contrast ratio, 1 to 21, of two luminances. */
export function contrast(a: number, b: number): number {
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}
