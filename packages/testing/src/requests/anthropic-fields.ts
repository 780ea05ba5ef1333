// Reading of values that are not trusted to have any shape, for the checks of Messages requests.

export type Fields = Readonly<Record<string, unknown>>;
export type Problems = Generator<string, void>;

/** What the API takes as the id of a call and as the name of a tool. */
export const wordRule = /^[a-zA-Z0-9_-]{1,64}$/;

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isWhole(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value);
}

export function isWord(value: unknown): value is string {
  return typeof value === 'string' && wordRule.test(value);
}

export function hasText(text: string): boolean {
  return /\S/.test(text);
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** For ids and names, never for contents: quoted, and short. */
export function show(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value.length > 80 ? `${value.slice(0, 80)}…` : value) : String(value);
}

export function isThinking(block: Fields | undefined): boolean {
  return block?.type === 'thinking' || block?.type === 'redacted_thinking';
}

/** The readable blocks of a message; text content has none. */
export function contentOf(message: unknown): readonly Fields[] {
  return isFields(message) ? listOf(message.content).filter(isFields) : [];
}

/** True if the request asks for thinking. */
export function thinks(body: Fields): boolean {
  return isFields(body.thinking) && (body.thinking.type === 'enabled' || body.thinking.type === 'adaptive');
}
