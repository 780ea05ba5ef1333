// The form of each durable event: all that a reader of a log relies on. A field that later versions may add is no fault.
import type { LogEvent } from './events.js';
import type { Form } from './form.js';
import {
  all,
  byWord,
  count,
  either,
  fields,
  flag,
  json,
  listOf,
  number,
  object,
  oneOf as oneWordOf,
  optional,
  orNull,
  recordOf,
  text,
} from './form.js';
import { limitNames } from './limits.js';

/** What every event has, of whatever type. */
export const everyEvent = fields({ seq: count, at: number, run: text, agent: text, parent: optional(text), answers: optional(text) });

const yes = oneWordOf(true);

/**
 * What the events of each type have beside that. `words`: whether a word that stands for one of a few must be one that this version knows; a log of
 * a later version may hold others, of which a reader can still tell.
 */
function formsOf(words: 'known' | 'any'): ReadonlyMap<string, Form> {
  const oneOf = (...known: readonly string[]): Form => (words === 'known' ? oneWordOf(...known) : text);
  const texts = listOf(text);
  const isText = (value: unknown): boolean => typeof value === 'string';

  const label = fields({ origin: text, integrity: oneOf('trusted', 'untrusted') });
  const media = fields({ mediaType: optional(text), data: optional(text), url: optional(text), label: optional(label) });
  const part = byWord('type', {
    text: fields({ text, label: optional(label) }),
    image: media,
    file: all(media, fields({ name: optional(text) })),
  });
  const content = either(isText, [text, listOf(part)]);

  const userMessage = fields({
    role: oneOf('user'),
    id: text,
    via: oneOf('user', 'session', 'handoff', 'view', 'parent', 'developer'),
    parts: listOf(part),
    label,
  });
  const callFields = { id: text, providerId: optional(text), name: text, input: object } as const;
  const native = fields({ provider: text, message: json });
  const assistantMessage = fields({
    role: oneOf('assistant'),
    id: text,
    agent: text,
    text,
    calls: listOf(fields(callFields)),
    native: optional(native),
    label,
  });
  const item = byWord('role', { user: userMessage, assistant: assistantMessage });
  const viewText = fields({ id: text, text, dropsInputs: optional(yes) });
  const isItem = (value: unknown): boolean => typeof value === 'object' && value !== null && 'role' in value;
  const view = listOf(either(isText, [text, either(isItem, [userMessage, viewText])]));

  // What is no count tells nothing, and is read so: a provider may have told it.
  const usage = fields({ byModel: optional(recordOf(object)) });
  const shares = optional(listOf(fields({ model: text, usage })));

  const surface = oneOf('input', 'toolInput', 'toolOutput', 'handoff', 'output');
  const limit = oneOf(...limitNames);
  const limits = fields(Object.fromEntries(limitNames.map((name): [string, Form] => [name, orNull(number)])));
  const guards = listOf(
    fields({
      name: text,
      version: optional(text),
      surfaces: listOf(surface),
      phases: listOf(oneOf('rewrite', 'check')),
      tools: optional(texts),
      beside: optional(yes),
      shadow: optional(yes),
      onError: optional(oneOf('halt', 'allow')),
    }),
  );
  const manifest = fields({
    run: guards,
    agent: guards,
    tools: recordOf(guards),
    targets: optional(recordOf(guards)),
    definitions: optional(fields({ name: text, agent: text, tools: recordOf(text) })),
  });

  const refusal = fields({
    action: oneOf('ask', 'deny', 'halt'),
    surface,
    by: text,
    reason: text,
    reply: optional(text),
    failed: optional(yes),
  });
  const status = oneOf('ok', 'error', 'denied', 'rejected', 'aborted', 'unknown');
  const callEnd = {
    status,
    content,
    errorClass: optional(
      oneOf(
        'invalid_input',
        'unknown_tool',
        'denied',
        'rejected',
        'timeout',
        'aborted',
        'rate_limited',
        'not_found',
        'unavailable',
        'bad_result',
        'failed',
      ),
    ),
    retryable: optional(flag),
    note: optional(text),
    label,
    refusal: optional(refusal),
  } as const;
  const asks = listOf(fields({ by: text, reason: text }));
  const error = fields({ code: text, message: text, isRetryable: flag, details: optional(object), cause: optional(object) });
  const cause = fields({ name: text, code: optional(text), status: optional(number), requestId: optional(text) });
  const kinds = oneOf('tool', 'agent', 'handoff', 'caller', 'unknown');
  const call = fields({
    ...callFields,
    kind: kinds,
    handoff: optional(fields({ to: text, brief: text })),
    revision: number,
    changedFields: optional(texts),
    asks: optional(asks),
    copyOf: optional(text),
    end: optional(fields(callEnd)),
    variant: optional(number),
  });

  const approvalFields = {
    id: text,
    run: text,
    agentPath: texts,
    subject: text,
    revision: number,
    digest: text,
    reason: text,
    asks,
    // Left out of logs of 0.1.0, as the next.
    label: optional(label),
    untrustedFrom: optional(texts),
    rewrites: optional(listOf(fields({ by: text, reason: optional(text), places: optional(count) }))),
  } as const;
  const flow = fields({
    effect: oneOf('none', 'read', 'write', 'send'),
    authority: either((value) => Array.isArray(value), [texts, oneOf('all')]),
    declared: flag,
  });
  const ofCall = { ...approvalFields, tool: text, callId: text, input: object } as const;
  const approval = byWord(
    'surface',
    {
      toolInput: fields({
        ...ofCall,
        flow: optional(flow),
        changedFields: optional(texts),
        mayHaveRun: optional(flag),
        caller: optional(yes),
      }),
      handoff: fields({ ...ofCall, from: text, to: text, brief: text }),
      output: fields({ ...approvalFields, key: text, chars: count, turn: count, calls: count }),
    },
    words === 'known' ? undefined : fields({ ...approvalFields, tool: optional(text), callId: optional(text), input: optional(object) }),
  );
  const standing = fields({ agentPath: texts, tool: text, when: object, exact: optional(yes), expiresAt: optional(number) });

  const revisions = optional(recordOf(count));

  const forms: Readonly<Record<LogEvent['type'], Form>> = {
    'run.start': fields({ writer: text, limits, manifest, onLimit: optional(oneOf('finalize')), call: optional(text) }),
    'run.resume': fields({
      writer: text,
      manifest,
      limits: optional(limits),
      onLimit: optional(oneOf('stop', 'finalize')),
      reopens: optional(yes),
    }),
    'guard.verdict': fields({
      guardrail: text,
      version: optional(text),
      level: oneOf('run', 'agent', 'tool'),
      surface,
      subject: text,
      revision: number,
      phase: oneOf('rewrite', 'check'),
      action: oneOf('allow', 'rewrite', 'ask', 'deny', 'halt'),
      reason: optional(text),
      failed: optional(yes),
      failure: optional(oneOf('threw', 'late', 'misfit', 'unasked')),
      shadow: optional(yes),
      beside: optional(yes),
      projected: optional(yes),
      places: optional(count),
      size: optional(fields({ before: count, after: count })),
      ms: number,
    }),
    'input.accept': fields({
      subject: text,
      revision: number,
      items: listOf(item),
      changed: optional(listOf(viewText)),
      judged: optional(texts),
      revisions,
    }),
    'model.start': fields({
      turn: count,
      model: text,
      view: optional(view),
      beside: optional(yes),
      note: optional(text),
      final: optional(limit),
      viewUsage: shares,
    }),
    'model.end': fields({
      turn: count,
      status: oneOf('ok', 'refused', 'failed', 'aborted'),
      id: text,
      text,
      revision: number,
      calls: listOf(call),
      native: optional(native),
      reasoning: optional(text),
      label,
      usage,
      model: optional(text),
      stopReason: optional(text),
      chars: optional(count),
      refusal: optional(refusal),
      misfit: optional(text),
      unread: optional(yes),
      thought: optional(text),
      continues: optional(text),
      empty: optional(yes),
      error: optional(error),
    }),
    'approval.request': fields({ approval, turn: optional(count), usage: optional(usage), model: optional(text) }),
    'approval.resolve': fields({
      id: text,
      subject: text,
      revision: number,
      decision: oneOf('approve', 'reject', 'edit', 'result', 'void'),
      digest: text,
      askedAt: optional(number),
      decidedBy: optional(text),
      reason: optional(text),
      input: optional(object),
      once: optional(yes),
      changed: optional(yes),
      asks: optional(asks),
      changedFields: optional(texts),
      standing: optional(standing),
      byStanding: optional(text),
    }),
    'tool.start': fields({ callId: text, tool: text, revision: number, input: object, idempotencyKey: text, once: optional(yes) }),
    'tool.end': fields({
      ...callEnd,
      callId: text,
      tool: text,
      id: text,
      revision: number,
      chars: count,
      completeness: optional(text),
      projectionUsage: shares,
      structured: optional(yes),
      projection: optional(oneOf('core', 'user')),
      copyOf: optional(text),
      polling: optional(yes),
      limit: optional(limit),
      handoff: optional(fields({ to: text, brief: text, filtered: optional(yes) })),
      answer: optional(fields({ text, revision: number })),
    }),
    handoff: fields({
      callId: text,
      from: text,
      to: text,
      brief: text,
      revision: number,
      view: either(words === 'known' ? (value) => value === 'all' : isText, [text, view]),
      item: userMessage,
      revisions,
      entry: fields({ subject: text, revision: number, judged: texts }),
      manifest,
    }),
    'handoff.refused': fields({ ...callEnd, callId: text, limit: optional(limit) }),
    'monitor.alert': fields({
      monitor: text,
      turn: count,
      sign: text,
      reason: text,
      then: oneOf('nothing', 'note', 'ask', 'finalize', 'stop'),
    }),
    'run.end': fields({
      status: oneOf('completed', 'blocked', 'exhausted', 'cancelled', 'failed'),
      text: optional(text),
      refusal: optional(refusal),
      reply: optional(text),
      limit: optional(limit),
      error: optional(error),
      cause: optional(cause),
      viewUsage: shares,
    }),
  };

  return new Map(Object.entries(forms));
}

/** All that the fold and the loop rely on. */
export const eventForms = formsOf('known');
/** All that one relies on who tells people what a log holds. */
export const tellableForms = formsOf('any');
