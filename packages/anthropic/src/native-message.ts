import type { JsonValue } from '@guardloop/core/model';
import type { Block } from './blocks.js';
import { isObject } from './blocks.js';

/** Where the code that Anthropic runs has its files and its state, and until when. */
export interface Container {
  readonly id: string;
  /** ISO 8601; every use puts it off. */
  readonly expiresAt?: string | undefined;
}

/** An answer as Anthropic gave it. */
export interface Native {
  readonly blocks: readonly Block[];
  readonly container?: Container | undefined;
  /** The server that imitates the API and made it; undefined for Claude's own answers, wherever they come from. */
  readonly server?: string | undefined;
}

/** The field of a recorded answer that names its server. Never sent. */
const serverField = 'guardloop_server';

/** How an answer is recorded for replay: its blocks, with the container and the server beside them where there is one. */
export function writeNative({ blocks, container, server }: Native): JsonValue {
  if (container === undefined && server === undefined) return blocks;
  return {
    content: blocks,
    ...(container === undefined ? {} : { container: { id: container.id, expires_at: container.expiresAt ?? null } }),
    ...(server === undefined ? {} : { [serverField]: server }),
  };
}

/** What {@link writeNative} wrote, or undefined for anything else. */
export function readNative(message: JsonValue | undefined): Native | undefined {
  if (isBlocks(message)) return { blocks: message };
  if (!isObject(message) || !isBlocks(message.content)) return undefined;
  const server = message[serverField];
  return { blocks: message.content, container: readContainer(message.container), server: typeof server === 'string' ? server : undefined };
}

/** The container that a response or a recorded answer names, if it names one. */
export function readContainer(value: unknown): Container | undefined {
  if (!isObject(value) || typeof value.id !== 'string') return undefined;
  return { id: value.id, ...(typeof value.expires_at === 'string' ? { expiresAt: value.expires_at } : {}) };
}

/** False once the API has thrown the container away; true where it has not said when it will. */
export function isAlive({ expiresAt }: Container, now: number): boolean {
  const end = expiresAt === undefined ? Number.NaN : Date.parse(expiresAt);
  return Number.isNaN(end) || end > now;
}

function isBlocks(value: JsonValue | undefined): value is readonly Block[] {
  return Array.isArray(value) && value.every((block) => isObject(block) && typeof block.type === 'string');
}
