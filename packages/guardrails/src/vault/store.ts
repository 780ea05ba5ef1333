import type { Awaitable } from '@guardloop/core';

/** One value that was put away. Plain JSON. */
export interface VaultEntry {
  /** `[EMAIL_1]`; unique in its conversation. */
  readonly placeholder: string;
  /** Of the finding: `email`. */
  readonly kind: string;
  /** With a key: sealed by AES-GCM, text without white space. Without: the value itself. */
  readonly value: string;
}

/** Where a vault keeps its entries, by conversation, in the order in which they were added. */
export interface VaultStore {
  /** All entries of a conversation; none for one that is not known. */
  load(conversation: string): Awaitable<readonly VaultEntry[]>;
  /**
   * Adds entries behind the first `after` ones. Atomic: where the conversation has not just so many, nothing is added and the answer is false
   * (in SQL: a primary key over conversation and number).
   */
  append(conversation: string, entries: readonly VaultEntry[], after: number): Awaitable<boolean>;
  /** Forgets a conversation. What is in logs then stands for nothing that anybody could look up. */
  delete(conversation: string): Awaitable<void>;
}

/** Keeps entries in this process: gone with it, and never forgotten unless `delete` is called. */
export function memoryVaultStore(): VaultStore {
  const conversations = new Map<string, readonly VaultEntry[]>();
  return {
    load: (conversation) => conversations.get(conversation) ?? [],
    append: (conversation, entries, after) => {
      const before = conversations.get(conversation) ?? [];
      if (before.length !== after) return false;
      conversations.set(conversation, [...before, ...entries]);
      return true;
    },
    delete: (conversation) => {
      conversations.delete(conversation);
    },
  };
}
