import type { Definitions, GuardEntry, Manifest } from './events.js';

/** Something that is not as it was when a run was left. `effect`: what the tool does to the world, or who runs it, is declared otherwise. */
export interface Change {
  readonly kind: 'agent' | 'tool' | 'guardrail';
  readonly name: string;
  readonly how: 'gone' | 'new' | 'changed' | 'effect';
}

/**
 * What differs between two manifests of one agent: its own definition, its tools, the guardrails. Says nothing about agents and tools where
 * either manifest, one of an older version, tells nothing of them.
 */
export function changesBetween(before: Manifest, after: Manifest): readonly Change[] {
  return [...definitionChanges(before.definitions, after.definitions), ...guardrailChanges(guardrailsOf(before), guardrailsOf(after))];
}

function definitionChanges(before: Definitions | undefined, after: Definitions | undefined): readonly Change[] {
  if (before === undefined || after === undefined) return [];
  const changes: Change[] = [];
  if (before.name !== after.name || before.agent !== after.agent)
    changes.push({ kind: 'agent', name: before.name, how: before.name === after.name ? 'changed' : 'gone' });
  const names = new Set([...Object.keys(before.tools), ...Object.keys(after.tools)]);
  for (const name of names) {
    const how = howChanged(
      Object.hasOwn(before.tools, name) ? before.tools[name] : undefined,
      Object.hasOwn(after.tools, name) ? after.tools[name] : undefined,
    );
    if (how) changes.push({ kind: 'tool', name, how });
  }
  return changes;
}

/** A tool's two digests stand in one text: of its effect, and of the rest. */
function howChanged(before: string | undefined, after: string | undefined): Change['how'] | undefined {
  if (before === after) return undefined;
  if (before === undefined) return 'new';
  if (after === undefined) return 'gone';
  return before.split('.')[0] === after.split('.')[0] ? 'changed' : 'effect';
}

function guardrailChanges(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): readonly Change[] {
  const changes: Change[] = [];
  for (const [name, form] of before) {
    const now = after.get(name);
    if (now !== form) changes.push({ kind: 'guardrail', name, how: now === undefined ? 'gone' : 'changed' });
  }
  for (const name of after.keys()) if (!before.has(name)) changes.push({ kind: 'guardrail', name, how: 'new' });
  return changes;
}

/** Guardrails by name and place, with the form in which they stand. */
function guardrailsOf({ run, agent, tools }: Manifest): ReadonlyMap<string, string> {
  const owners: readonly (readonly [string, readonly GuardEntry[]])[] = [
    ['run', run],
    ['agent', agent],
    ...Object.entries(tools).map(([tool, entries]) => [`tool ${tool}`, entries] as const),
  ];
  return new Map(owners.flatMap(([owner, entries]) => entries.map((entry) => [`${owner} ${entry.name}`, JSON.stringify(entry)] as const)));
}

/** 64 bits of a text, in hex: tells whether something changed, and protects nothing. Two runs of FNV-1a, 32 bits each, over UTF-16 units. */
export function shortDigest(text: string): string {
  let [low, high] = [0x811c9dc5, 0x01000193];
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    low = Math.imul(low ^ unit, 0x01000193);
    high = Math.imul(high ^ (unit + index), 0x85ebca6b);
  }
  return [low, high].map((half) => (half >>> 0).toString(16).padStart(8, '0')).join('');
}
