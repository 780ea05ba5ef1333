import type { Label, Message, UserMessage } from '../src/model/types.js';
import type { CallApproval, HandoffApproval, LogEvent, OutputApproval, RecordedCall } from '../src/state/events.js';
import { defaultLimits, recordLimits } from '../src/state/limits.js';

export const trusted: Label = { origin: 'user', integrity: 'trusted' };
export const byAgent: Label = { origin: 'agent:a', integrity: 'trusted' };
export const untrusted: Label = { origin: 'tool:look', integrity: 'untrusted' };

const asked = { run: 'r', agentPath: ['a'], revision: 0, digest: '', reason: 'why', label: byAgent, untrustedFrom: [] };

export function callApproval(more: Partial<CallApproval> = {}): CallApproval {
  return {
    ...asked,
    id: 'p1',
    surface: 'toolInput',
    subject: 'r/1.0',
    asks: [{ by: 'approval', reason: 'why' }],
    tool: 'look',
    callId: '1.0',
    input: {},
    flow: { effect: 'none', authority: [], declared: true },
    mayHaveRun: false,
    ...more,
  };
}

export function handoffApproval(more: Partial<HandoffApproval> = {}): HandoffApproval {
  return {
    ...asked,
    id: 'p1',
    surface: 'handoff',
    subject: 'r/1.0',
    asks: [{ by: 'g', reason: 'why' }],
    tool: 'transfer_to_b',
    callId: '1.0',
    input: {},
    from: 'a',
    to: 'b',
    brief: 'go on',
    ...more,
  };
}

export function outputApproval(more: Partial<OutputApproval> = {}): OutputApproval {
  return {
    ...asked,
    id: 'p1',
    surface: 'output',
    subject: 'r/1',
    asks: [{ by: 'g', reason: 'why' }],
    key: 'r/1',
    chars: 4,
    turn: 1,
    calls: 0,
    ...more,
  };
}

type EventOf<T extends LogEvent['type']> = Extract<LogEvent, { type: T }>;

const common = { seq: 0, at: 0, run: 'r', agent: 'a' };
const manifest = { run: [], agent: [], tools: {} };

const plain: { readonly [T in LogEvent['type']]: EventOf<T> } = {
  'run.start': { type: 'run.start', ...common, writer: 'w1', limits: recordLimits(defaultLimits), manifest },
  'run.resume': { type: 'run.resume', ...common, writer: 'w2', manifest },
  'guard.verdict': {
    type: 'guard.verdict',
    ...common,
    guardrail: 'g',
    level: 'run',
    surface: 'input',
    subject: 'r/input',
    revision: 0,
    phase: 'check',
    action: 'allow',
    ms: 1,
  },
  'input.accept': { type: 'input.accept', ...common, subject: 'r/input', revision: 0, items: [] },
  'model.start': { type: 'model.start', ...common, turn: 1, model: 'm' },
  'model.end': {
    type: 'model.end',
    ...common,
    turn: 1,
    status: 'ok',
    id: 'r/1',
    text: '',
    revision: 0,
    calls: [],
    label: byAgent,
    usage: { requests: 1, inputTokens: 10, outputTokens: 1, cost: 2 },
  },
  'approval.request': { type: 'approval.request', ...common, approval: callApproval() },
  'approval.resolve': {
    type: 'approval.resolve',
    ...common,
    id: 'p1',
    subject: 'r/1.0',
    revision: 0,
    decision: 'approve',
    digest: '',
  },
  'tool.start': { type: 'tool.start', ...common, callId: '1.0', tool: 'look', revision: 0, input: {}, idempotencyKey: 'k' },
  'tool.end': {
    type: 'tool.end',
    ...common,
    callId: '1.0',
    tool: 'look',
    id: 'r/1.0',
    status: 'ok',
    content: 'seen',
    label: trusted,
    revision: 0,
    chars: 4,
  },
  handoff: {
    type: 'handoff',
    ...common,
    callId: '1.0',
    from: 'a',
    to: 'b',
    brief: 'go on',
    revision: 0,
    view: 'all',
    item: { role: 'user', id: 'r/1.0/brief', via: 'handoff', parts: [{ type: 'text', text: 'go on' }], label: byAgent },
    entry: { subject: 'r/1.0/input', revision: 0, judged: [] },
    manifest,
  },
  'handoff.refused': { type: 'handoff.refused', ...common, callId: '1.0', status: 'denied', content: 'no', label: byAgent },
  'monitor.alert': { type: 'monitor.alert', ...common, monitor: 'watch', turn: 1, sign: 'odd', reason: 'It is odd.', then: 'nothing' },
  'run.end': { type: 'run.end', ...common, status: 'completed' },
};

/** A plain event of a run `r` of agent `a`, with more said of it. */
export function event<T extends LogEvent['type']>(type: T, more: Partial<EventOf<T>> = {}): EventOf<T> {
  return { ...(plain[type] as EventOf<T>), ...more };
}

/** Events as they stand in a log: numbered from 1. One that tells no time comes with the one before. */
export function log(...events: readonly LogEvent[]): LogEvent[] {
  let now = 0;
  return events.map((each, index) => {
    now = Math.max(now, each.at);
    return { ...each, seq: index + 1, at: now };
  });
}

export function user(id: string, text = id, more: Partial<UserMessage> = {}): UserMessage {
  return { role: 'user', id, via: 'user', parts: [{ type: 'text', text }], label: trusted, ...more };
}

export function toolCall(id: string, more: Partial<RecordedCall> = {}): RecordedCall {
  return { id, name: 'look', input: {}, kind: 'tool', revision: 0, ...more };
}

/** Ids of messages, in order. */
export const idsIn = (messages: readonly Message[]): string[] => messages.map(({ id }) => id);
