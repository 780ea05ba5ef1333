import type { GuardEntry, HandoffEvent, Manifest, ModelEndEvent, ViewEntry } from '@guardloop/core';

/** What was said, by message id, and which guardrails it has passed on its way into an agent's view. */
export interface ConversationAudit {
  /** Everything recorded, in order. */
  readonly messages: RecordedMessage[];
  /** What the active agent sees, each in its form: see {@link formOf}. */
  view: string[];
  agent: string | undefined;
  /** Keys of the input guardrails around the active agent, once its entry was committed. */
  standing: readonly string[];
  /** Guardrail key to the forms of what it has passed, or was there to see arise. */
  readonly passed: Map<string, Set<string>>;
}

interface RecordedMessage {
  readonly id: string;
  /** Of an answer: the ids of its calls, and whether it says anything beside. */
  readonly calls?: readonly string[] | undefined;
  readonly hasText?: boolean | undefined;
}

export function newConversation(): ConversationAudit {
  return { messages: [], view: [], agent: undefined, standing: [], passed: new Map() };
}

/** A guardrail's name for what it has passed: an agent's own count for that agent only, and what a shadow saw it has not let pass. */
export function passKey(
  { name, version = '', shadow }: Pick<GuardEntry, 'name' | 'version' | 'shadow'>,
  agent: string | undefined,
): string {
  return `${agent === undefined ? 'run' : `agent:${agent}`}:${name}@${version}${shadow ? '~shadow' : ''}`;
}

export function hasPassed(conversation: ConversationAudit, key: string, form: string): boolean {
  return conversation.passed.get(key)?.has(form) ?? false;
}

/** An agent takes the conversation over; what it sees counts as passed only when its entry is committed. */
export function takeOver(conversation: ConversationAudit, agent: string, view: readonly string[]): void {
  conversation.agent = agent;
  conversation.view = [...view];
  conversation.standing = [];
}

/** The entry of the active agent was committed: all it sees has passed all that stand. */
export function commitEntry(conversation: ConversationAudit, guards: Pick<Manifest, 'run' | 'agent'>): void {
  const onInput = (entry: { readonly surfaces: readonly string[] }): boolean => entry.surfaces.includes('input');
  conversation.standing = [
    ...guards.run.filter(onInput).map((entry) => passKey(entry, undefined)),
    ...guards.agent.filter(onInput).map((entry) => passKey(entry, conversation.agent)),
  ];
  for (const form of conversation.view) markPassed(conversation, form);
}

/** Something passed all that stand around the active agent, or arose under them. */
export function markPassed(conversation: ConversationAudit, form: string, keys = conversation.standing): void {
  for (const key of keys) {
    const forms = conversation.passed.get(key);
    if (forms) forms.add(form);
    else conversation.passed.set(key, new Set([form]));
  }
}

export function record(conversation: ConversationAudit, message: RecordedMessage): void {
  conversation.messages.push(message);
  see(conversation, message.id);
}

/** Something enters the active agent's view alone. */
export function see(conversation: ConversationAudit, id: string): void {
  conversation.view.push(id);
  markPassed(conversation, id);
}

export function recordAnswer(conversation: ConversationAudit, event: ModelEndEvent): void {
  record(conversation, { id: event.id, calls: event.calls.map((call) => call.id), hasText: event.text !== '' });
}

export const idOf = (entry: ViewEntry): string => (typeof entry === 'string' ? entry : entry.id);

/** What tells a message in another form than the recorded one from that: its id alone stands for the recorded form. */
export function formOf(entry: ViewEntry): string {
  if (typeof entry === 'string' || 'role' in entry) return idOf(entry);
  return `${entry.id}\n${entry.dropsInputs ? '{}' : ''}\n${entry.text}`;
}

export const idOfForm = (form: string): string => form.split('\n', 1)[0] ?? '';

/** What the target of a handoff sees of the conversation, each in its form; the handoff's own call and result are left out. */
export function viewAfter(conversation: ConversationAudit, event: HandoffEvent): string[] {
  const result = `${event.run}/${event.callId}`;
  const kept = conversation.messages.filter(({ id, calls, hasText }) => {
    const isBare = calls !== undefined && !hasText && calls.every((call) => call === event.callId);
    return id !== result && !(isBare && id === `${event.run}/${event.callId.split('.')[0]}`);
  });
  const ids = kept.map(({ id }) => id);
  if (event.view === 'all') return ids;
  return event.view.map(formOf);
}
