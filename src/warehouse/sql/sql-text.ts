/** A statement of a text. */
export interface Piece {
  /**
   * The statement without its semicolon. Line breaks replace the lines before it, so that errors have the right line
   * number.
   */
  readonly text: string;
  /** False if the text ends inside a quote or a comment, or without a semicolon. */
  readonly isTerminated: boolean;
}

/**
 * Splits a text at semicolons outside of quotes and comments; omits pieces that contain only blanks and comments.
 * Follows DuckDB's lexer, but safety does not depend on it: DuckDB parses each piece again before it runs.
 */
export function splitStatements(sql: string): Piece[] {
  const pieces: Piece[] = [];
  let start = 0;
  let hasContent = false;
  let lines = 0;
  const add = (end: number, isTerminated: boolean): void => {
    const text = sql.slice(start, end);
    if (hasContent) pieces.push({ text: `${'\n'.repeat(lines)}${text}`, isTerminated });
    lines += text.split('\n').length - 1;
    hasContent = false;
  };
  for (let at = 0; at < sql.length;) {
    const token = tokenAt(sql, at);
    if (token.kind === 'semicolon') {
      add(at, true);
      start = token.end;
    } else if (token.kind === 'other') hasContent = true;
    at = token.end;
  }
  add(sql.length, false);
  return pieces;
}

/**
 * Whether a typed text is complete: its last character outside of comments is a semicolon, and no quote or comment is
 * open.
 */
export function isFinished(sql: string): boolean {
  let last: Token['kind'] = 'blank';
  for (let at = 0; at < sql.length;) {
    const token = tokenAt(sql, at);
    if (!token.isClosed) return false;
    if (token.kind !== 'blank') last = token.kind;
    at = token.end;
  }
  return last === 'semicolon';
}

/**
 * Returns the first `most` words of a statement outside of quotes and comments, in upper case. Words in parentheses are
 * left out unless `nested`.
 */
export function wordsOf(sql: string, most: number, { nested = false } = {}): string[] {
  const words: string[] = [];
  let depth = 0;
  for (let at = 0; at < sql.length && words.length < most;) {
    const token = tokenAt(sql, at);
    const text = sql.slice(at, token.end);
    if (text === '(') depth += 1;
    else if (text === ')') depth -= 1;
    else if ((nested || depth === 0) && /^[\p{L}_]/u.test(text)) words.push(text.toUpperCase());
    at = token.end;
  }
  return words;
}

/** Returns the offset of the first token at or after `at` that is not blank or a comment. */
export function skipBlank(sql: string, at: number): number {
  let next = at;
  while (next < sql.length) {
    const token = tokenAt(sql, next);
    if (token.kind !== 'blank') break;
    next = token.end;
  }
  return next;
}

interface Token {
  readonly kind: 'blank' | 'semicolon' | 'other';
  readonly end: number;
  /** False if the closing quote or the end of the comment is missing. */
  readonly isClosed: boolean;
}

/** Token patterns; anything else is a token of one character. Sticky, to avoid copying the text. */
const BLANK = /\s+|--[^\n]*\n?/y;
const WORD = /[\p{L}_][\p{L}\p{N}_$]*|\d[\w.]*/uy;
const DOLLAR = /\$(?:[\p{L}_][\p{L}\p{N}_]*)?\$/uy;

function tokenAt(sql: string, at: number): Token {
  const blank = matchAt(BLANK, sql, at);
  if (blank !== null) return { kind: 'blank', end: at + blank.length, isClosed: true };
  const first = sql[at] as string;
  if (first === ';') return { kind: 'semicolon', end: at + 1, isClosed: true };
  if (sql.startsWith('/*', at)) return commentAt(sql, at);
  if (first === "'" || first === '"') return quoteAt(sql, at, first, false);
  if (/^[eE]'/.test(sql.slice(at, at + 2))) return quoteAt(sql, at + 1, "'", true);
  if (first === '$') {
    const tag = matchAt(DOLLAR, sql, at);
    if (tag !== null) {
      const end = sql.indexOf(tag, at + tag.length);
      return { kind: 'other', end: end === -1 ? sql.length : end + tag.length, isClosed: end !== -1 };
    }
  }
  const word = matchAt(WORD, sql, at);
  return { kind: 'other', end: at + (word?.length ?? 1), isClosed: true };
}

// A doubled quote ends one text and starts the next, which gives the same result.
function quoteAt(sql: string, at: number, quote: string, hasEscapes: boolean): Token {
  for (let next = at + 1; next < sql.length; next++) {
    if (hasEscapes && sql[next] === '\\') next += 1;
    else if (hasEscapes && sql.startsWith("''", next)) next += 1;
    else if (sql[next] === quote) return { kind: 'other', end: next + 1, isClosed: true };
  }
  return { kind: 'other', end: sql.length, isClosed: false };
}

// Block comments nest.
function commentAt(sql: string, at: number): Token {
  let depth = 0;
  for (let next = at; next < sql.length;) {
    if (sql.startsWith('/*', next)) depth += 1;
    else if (sql.startsWith('*/', next)) depth -= 1;
    else {
      next += 1;
      continue;
    }
    next += 2;
    if (depth === 0) return { kind: 'blank', end: next, isClosed: true };
  }
  return { kind: 'blank', end: sql.length, isClosed: false };
}

function matchAt(pattern: RegExp, sql: string, at: number): string | null {
  pattern.lastIndex = at;
  return pattern.exec(sql)?.[0] ?? null;
}
