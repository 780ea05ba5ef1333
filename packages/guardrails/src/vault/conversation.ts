import type { VaultCipher } from './cipher.js';
import { KnownValues } from './known-values.js';
import { labelOf, placeholderOf } from './placeholders.js';
import type { VaultEntry, VaultStore } from './store.js';

/** A value and what kind of thing it is. */
export interface NewValue {
  readonly kind: string;
  readonly value: string;
}

/** How a vault keeps its values. */
export interface Keeping {
  readonly store: VaultStore;
  /** Undefined: values are kept as they are. */
  readonly cipher: VaultCipher | undefined;
  readonly names: 'counted' | 'keyed';
  /** The form in which values of a kind are compared. */
  readonly normal: (kind: string, value: string) => string;
}

/** A value in an answer that flows. */
export interface PassingValue extends NewValue {
  /**
   * `whole`: it is settled. `headless`: it may be the rest of one that was settled before. `growing`: it may be the beginning of a longer one, and
   * comes again with the next piece, if one comes.
   */
  readonly state: 'whole' | 'headless' | 'growing';
}

const mostEntries = 10_000;
const mostTries = 20;
/** How long the last values of an answer that flows wait for a next piece before they are kept, milliseconds. */
const settleMs = 200;

/** Names that are given to several values at once. */
interface Naming {
  readonly taken: Set<string>;
  /** The last number that was tried, by label. */
  readonly last: Map<string, number>;
}

/** The entries of one conversation, opened, as far as they were read. */
export class Conversation {
  private readonly values = new Map<string, NewValue>();
  private readonly placeholders = new Map<string, string>();
  private known = new KnownValues();
  /** Of each entry that was read, the form in the store. */
  private stored: string[] = [];
  private readonly perLabel = new Map<string, number>();
  private tail: Promise<unknown> = Promise.resolve();
  /** What is asked for at the same time is put away at once. */
  private readonly waiting: NewValue[] = [];
  private batch: Promise<void> | undefined;
  /** What the end of an answer that flows holds, by run: nobody was shown it unless it was the end. */
  private readonly growing = new Map<string, readonly VaultEntry[]>();
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    readonly name: string,
    private readonly keeping: Keeping,
  ) {}

  /** Reads what the store has, and forgets what it has no longer. Rejects where a value cannot be opened. */
  reload(): Promise<void> {
    return this.inTurn(async () => {
      await this.settle();
      await this.read();
    });
  }

  /** Forgets also what waits to be kept. */
  clear(): Promise<void> {
    return this.inTurn(async () => {
      this.growing.clear();
      this.forget();
      await this.keeping.store.delete(this.name);
    });
  }

  /** What a placeholder stands for. */
  valueOf(placeholder: string): NewValue | undefined {
    return this.values.get(placeholder);
  }

  has(placeholder: string): boolean {
    return this.values.has(placeholder);
  }

  /** Whether a text means the value of a placeholder. */
  isAlike(placeholder: string, text: string): boolean {
    const entry = this.values.get(placeholder);
    return entry !== undefined && this.keyOf(entry.kind, text) === this.keyOf(entry.kind, entry.value);
  }

  /** Whether a placeholder of this label was made. */
  hasLabel(label: string): boolean {
    return this.perLabel.has(label);
  }

  get knownValues(): KnownValues {
    return this.known;
  }

  /** A placeholder for each, in order: the same as before for a value that was put away before. */
  placeholdersFor(values: readonly NewValue[]): Promise<readonly string[]> {
    if (values.length === 0) return noPlaceholders;
    this.waiting.push(...values);
    this.batch ??= this.inTurn(async () => {
      const all = this.waiting.splice(0);
      this.batch = undefined;
      await this.settle();
      await this.keep(all);
    });
    return this.batch.then(() => values.map((value) => this.placeholderFor(value)));
  }

  /** As `placeholdersFor`, in an answer of this run that flows: what may still grow is kept when no more of it comes. */
  placeholdersWhile(values: readonly PassingValue[], run: string): Promise<readonly string[]> {
    if (values.length === 0 && !this.growing.has(run)) return noPlaceholders;
    return this.inTurn(async () => {
      this.growing.delete(run);
      const isCut = (value: PassingValue): boolean => value.state === 'headless' && this.endingWith(value) !== undefined;
      await this.keep(values.filter((value) => value.state !== 'growing' && !isCut(value)));
      const fresh = await this.freshEntries(values.filter(({ state }) => state === 'growing'));
      if (fresh.length > 0) this.growing.set(run, fresh);
      this.settleLater();
      return values.map(
        (value) => (isCut(value) ? this.endingWith(value) : undefined) ?? freshFor(fresh, value, this.keyOf) ?? this.placeholderFor(value),
      );
    });
  }

  private async keep(values: readonly NewValue[]): Promise<void> {
    for (let tries = 0; tries < mostTries; tries += 1) {
      const fresh = await this.freshEntries(values);
      if (fresh.length === 0 || (await this.append(fresh))) return;
      // Somebody else has added to the conversation.
      await this.read();
    }
    throw new Error('the store of a vault does not take new entries: append gave false each time');
  }

  /** The placeholder of a longer value of the kind that ends so. */
  private endingWith({ kind, value }: NewValue): string | undefined {
    for (const [placeholder, known] of this.values)
      if (known.kind === kind && known.value.length > value.length && known.value.endsWith(value)) return placeholder;
    return undefined;
  }

  private settleLater(): void {
    clearTimeout(this.timer);
    if (this.growing.size > 0) this.timer = setTimeout(() => void this.inTurn(() => this.settle()).catch(() => undefined), settleMs);
  }

  /** Keeps what ended an answer, under the placeholders that were shown. What another writer has taken meanwhile stands for nothing. */
  private async settle(): Promise<void> {
    clearTimeout(this.timer);
    for (const [run, entries] of this.growing) {
      for (let tries = 0; tries < mostTries; tries += 1) {
        const left = entries.filter(({ placeholder }) => !this.values.has(placeholder));
        if (left.length === 0 || (await this.append(left))) break;
        await this.read();
      }
      this.growing.delete(run);
    }
  }

  private placeholderFor({ kind, value }: NewValue): string {
    const placeholder = this.placeholders.get(this.keyOf(kind, value));
    if (placeholder === undefined) throw new Error('a vault has lost a value that it was just given');
    return placeholder;
  }

  private readonly keyOf = (kind: string, value: string): string => JSON.stringify([kind, this.keeping.normal(kind, value)]);

  /** One after another: what is counted is not counted twice. */
  private inTurn<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.tail.then(work, work);
    this.tail = mine.catch(() => undefined);
    return mine;
  }

  private async read(): Promise<void> {
    const entries = await this.keeping.store.load(this.name);
    // Forgotten elsewhere, and perhaps begun anew.
    if (this.stored.some((form, index) => form !== formOf(entries[index]))) this.forget();
    const { cipher } = this.keeping;
    const added = entries.slice(this.stored.length);
    const values = await Promise.all(added.map((entry) => (cipher === undefined ? entry.value : cipher.open(this.name, entry))));
    for (const [index, entry] of added.entries()) this.take(entry, values[index] ?? '');
  }

  private forget(): void {
    this.values.clear();
    this.placeholders.clear();
    this.perLabel.clear();
    this.known = new KnownValues();
    this.stored = [];
  }

  private take(entry: VaultEntry, value: string): void {
    const { placeholder, kind } = entry;
    this.stored.push(formOf(entry));
    const label = placeholder.slice(1, placeholder.lastIndexOf('_'));
    this.perLabel.set(label, (this.perLabel.get(label) ?? 0) + 1);
    if (!this.values.has(placeholder)) this.values.set(placeholder, { kind, value });
    const key = this.keyOf(kind, value);
    if (!this.placeholders.has(key)) this.placeholders.set(key, placeholder);
    this.known.add(value, placeholder);
  }

  private async freshEntries(values: readonly NewValue[]): Promise<readonly VaultEntry[]> {
    const fresh = new Map<string, VaultEntry>();
    const naming: Naming = { taken: new Set([...this.growing.values()].flat().map(({ placeholder }) => placeholder)), last: new Map() };
    for (const { kind, value } of values) {
      const key = this.keyOf(kind, value);
      if (this.placeholders.has(key) || fresh.has(key)) continue;
      const placeholder = await this.newPlaceholder({ kind, value }, naming);
      naming.taken.add(placeholder);
      fresh.set(key, { kind, value, placeholder });
    }
    return [...fresh.values()];
  }

  private async newPlaceholder({ kind, value }: NewValue, { taken, last }: Naming): Promise<string> {
    const { names, cipher, normal } = this.keeping;
    const isFree = (placeholder: string): boolean => !this.values.has(placeholder) && !taken.has(placeholder);
    if (names === 'keyed' && cipher !== undefined) {
      const parts = { conversation: this.name, kind, value: normal(kind, value) };
      const short = placeholderOf(kind, await cipher.mark(parts, false));
      return isFree(short) ? short : placeholderOf(kind, await cipher.mark(parts, true));
    }
    const label = labelOf(kind);
    for (let number = (last.get(label) ?? this.perLabel.get(label) ?? 0) + 1; ; number += 1) {
      const placeholder = placeholderOf(kind, number);
      last.set(label, number);
      if (isFree(placeholder)) return placeholder;
    }
  }

  private async append(fresh: readonly VaultEntry[]): Promise<boolean> {
    const { store, cipher } = this.keeping;
    if (this.stored.length + fresh.length > mostEntries) throw new Error(`a vault keeps at most ${mostEntries} values for a conversation`);
    const sealed = await Promise.all(
      fresh.map(async (entry) => (cipher === undefined ? entry : { ...entry, value: await cipher.seal(this.name, entry) })),
    );
    const isAdded: unknown = await store.append(this.name, sealed, this.stored.length);
    if (typeof isAdded !== 'boolean') throw new Error('the store of a vault gave neither true nor false on append');
    if (isAdded) for (const [index, entry] of sealed.entries()) this.take(entry, fresh[index]?.value ?? '');
    return isAdded;
  }
}

const formOf = (entry: VaultEntry | undefined): string => (entry === undefined ? '' : `${entry.placeholder} ${entry.value}`);

const noPlaceholders: Promise<readonly string[]> = Promise.resolve([]);

function freshFor(
  fresh: readonly VaultEntry[],
  { kind, value }: NewValue,
  keyOf: (kind: string, value: string) => string,
): string | undefined {
  const key = keyOf(kind, value);
  return fresh.find((entry) => keyOf(entry.kind, entry.value) === key)?.placeholder;
}
