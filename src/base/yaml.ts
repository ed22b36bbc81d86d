/** A value that YAML and JSON have in common. */
export type YamlValue = string | number | boolean | null | readonly YamlValue[] | { readonly [key: string]: YamlValue };

/** Words that YAML 1.1 or 1.2 reads as another type than text. */
const RESERVED = /^(?:true|false|null|yes|no|on|off|y|n)$/i;
/** Text that needs no quotes as a value and as a key: words with single spaces, the first of which begins with a letter. */
const PLAIN = /^[A-Za-z][\w./()'%+*<>=,-]*(?: [\w./()'%+*<>=,-]+)*$/;
/** Text that is more readable in single quotes: with double quotes, and without characters that need an escape in either. */
const WITH_DOUBLE_QUOTES = /^(?=.*")[\x20-\x26\x28-\x5b\x5d-\x7e]+$/;
/** Characters that a literal block cannot contain. */
const UNPRINTABLE = /[^\n\x20-\x7e\u00a0-\ud7ff]/;

/**
 * Formats a value as a YAML document in block style, which readers of YAML 1.1 and 1.2 read in the same way. Text of several lines is a
 * literal block. `comment` is written before it, each line after `# `.
 * @throws TypeError if the value contains a number that is not finite, or undefined
 */
export function toYaml(value: YamlValue, comment: readonly string[] = []): string {
  const head = comment.map((line) => `${`# ${line}`.trimEnd()}\n`).join('');
  return `${head}${blockOf(value, 0).trimStart()}\n`;
}

// The text after a key or a dash: ` value` on the same line, or a line break and an indented block.
function blockOf(value: YamlValue, indent: number): string {
  const pad = ' '.repeat(indent);
  if (Array.isArray(value)) {
    const items = value as readonly YamlValue[];
    if (items.length === 0) return ' []';
    return items.map((item) => `\n${pad}- ${blockOf(item, indent + 2).trimStart()}`).join('');
  }
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value);
    if (entries.length === 0) return ' {}';
    return entries.map(([key, item]) => `\n${pad}${quoted(key)}:${blockOf(item, indent + 2)}`).join('');
  }
  return ` ${scalar(value as string | number | boolean | null, pad)}`;
}

function scalar(value: string | number | boolean | null, pad: string): string {
  if (typeof value === 'string') return isLiteral(value) ? literalBlock(value, pad) : quoted(value);
  if (typeof value === 'number' && !Number.isFinite(value))
    throw new TypeError(`YAML: ${value} is not a finite number`);
  if (value === undefined) throw new TypeError('YAML: undefined is not a value; omit the key or use null');
  return String(value);
}

function quoted(text: string): string {
  if (PLAIN.test(text) && !RESERVED.test(text)) return text;
  return WITH_DOUBLE_QUOTES.test(text) ? `'${text}'` : JSON.stringify(text);
}

function isLiteral(text: string): boolean {
  return text.includes('\n') && !UNPRINTABLE.test(text) && !/^\s|\s$| \n/.test(text);
}

function literalBlock(text: string, pad: string): string {
  const inner = pad === '' ? '  ' : pad;
  return `|-\n${text
    .split('\n')
    .map((line) => (line === '' ? '' : `${inner}${line}`))
    .join('\n')}`;
}
