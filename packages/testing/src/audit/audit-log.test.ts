import type {
  Ask,
  GuardEntry,
  GuardVerdictEvent,
  Log,
  LogEvent,
  Manifest,
  RecordedCall,
  Refusal,
  ToolEndEvent,
  UserMessage,
} from '@guardloop/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { auditLog } from './audit-log.js';

type Draft = LogEvent extends infer E
  ? E extends LogEvent
    ? Omit<E, 'seq' | 'at' | 'run' | 'agent'> & { readonly run?: string; readonly agent?: string }
    : never
  : never;

const logOf = (drafts: readonly Draft[]): Log => ({
  version: 1,
  events: drafts.map((draft, index) => ({ at: index, run: 'r1', agent: 'triage', ...draft, seq: index + 1 }) as LogEvent),
});

const letters = { allow: 'a', rewrite: 'r', ask: 'k', deny: 'd', halt: 'h' } as const;
/** With the answers counted in the event that follows them. */
const answered = (drafts: readonly Draft[]): readonly Draft[] => {
  let answers = '';
  return drafts.map((draft) => {
    if (draft.type === 'guard.verdict') {
      answers += letters[draft.action];
      return draft;
    }
    const counted = answers === '' ? draft : { ...draft, answers };
    answers = '';
    return counted;
  });
};

const trusted = { origin: 'user', integrity: 'trusted' } as const;
const core = { origin: 'developer', integrity: 'trusted' } as const;
const usage = { requests: 1, inputTokens: 1, outputTokens: 1 };
const limits = { turns: 8, toolCalls: null, tokens: null, cost: null, ms: null, handoffs: 8, repairs: 1, repeats: 3 };

const scrub: GuardEntry = { name: 'scrub', surfaces: ['input', 'output', 'toolInput', 'toolOutput'], phases: ['rewrite'] };
const clean: GuardEntry = { name: 'clean', version: '2', surfaces: ['input', 'output', 'toolOutput'], phases: ['rewrite', 'check'] };
const policy: GuardEntry = { name: 'policy', surfaces: ['toolInput', 'handoff'], phases: ['check'] };
const orders: GuardEntry = { name: 'orders', surfaces: ['toolInput'], phases: ['check'], tools: ['refund_*'] };
const quiet: GuardEntry = { name: 'quiet', surfaces: ['output', 'input'], phases: ['check'], shadow: true };
const manifest: Manifest = {
  run: [scrub],
  agent: [clean, policy, orders, quiet],
  tools: { find: [{ name: 'own', surfaces: ['toolOutput'], phases: ['check'] }] },
};
const bare: Manifest = { run: [], agent: [], tools: {} };

const item = (id: string, via: UserMessage['via'] = 'user'): UserMessage => ({
  role: 'user',
  id,
  via,
  parts: [{ type: 'text', text: 'hi' }],
  label: trusted,
});
const start = (more: Partial<Extract<Draft, { type: 'run.start' }>> = {}): Draft => ({
  type: 'run.start',
  writer: 'w1',
  limits,
  manifest,
  ...more,
});
const v = (
  guardrail: string,
  [surface, subject]: readonly [GuardVerdictEvent['surface'], string],
  more: Partial<GuardVerdictEvent> = {},
): Draft => ({
  type: 'guard.verdict',
  guardrail,
  ...(guardrail === 'clean' ? { version: '2' } : {}),
  level: guardrail === 'scrub' ? 'run' : guardrail === 'own' ? 'tool' : 'agent',
  surface,
  subject,
  revision: 0,
  phase: guardrail === 'scrub' ? 'rewrite' : 'check',
  action: 'allow',
  ms: 1,
  ...(guardrail === 'quiet' ? { shadow: true } : {}),
  ...more,
});
const entry = (run: string): Draft[] => [
  v('scrub', ['input', `${run}/i1`], { action: 'rewrite', reason: 'number' }),
  v('clean', ['input', `${run}/i1`], { phase: 'rewrite', revision: 1 }),
  v('clean', ['input', `${run}/input`], { revision: 1 }),
  v('quiet', ['input', `${run}/input`], { revision: 1, action: 'deny', reason: 'off topic' }),
];
const accepted = (run: string): Draft[] => [
  ...entry(run),
  { type: 'input.accept', subject: `${run}/input`, revision: 1, items: [item(`${run}/i1`)], revisions: { [`${run}/i1`]: 1 } },
];
const modelStart = (turn: number): Draft => ({ type: 'model.start', turn, model: 'scripted' });
const outputAllowed = (turn: number): Draft[] => [
  v('scrub', ['output', `r1/${turn}`]),
  v('clean', ['output', `r1/${turn}`], { phase: 'rewrite' }),
  v('clean', ['output', `r1/${turn}`]),
  v('quiet', ['output', `r1/${turn}`]),
];
const modelEnd = (turn: number, more: Partial<Extract<Draft, { type: 'model.end' }>> = {}): Draft => ({
  type: 'model.end',
  turn,
  status: 'ok',
  id: `r1/${turn}`,
  text: '',
  revision: 0,
  calls: [],
  label: { origin: 'agent:triage', integrity: 'trusted' },
  usage,
  stopReason: 'stop',
  ...more,
});
const call = (id: string, name: string, { input = {}, ...more }: Partial<RecordedCall> = {}): RecordedCall => ({
  id,
  name,
  input,
  kind: 'tool',
  revision: 0,
  ...more,
});
const toolStart = (
  callId: string,
  tool: string,
  { revision = 0, ...input }: { readonly revision?: number; readonly [name: string]: unknown } = {},
): Draft => ({
  type: 'tool.start',
  callId,
  tool,
  revision,
  input: input as Record<string, string>,
  idempotencyKey: `r1/${callId}`,
});
const toolEnd = (callId: string, tool: string, more: Partial<ToolEndEvent> = {}): Draft => ({
  type: 'tool.end',
  callId,
  tool,
  id: `r1/${callId}`,
  status: 'ok',
  content: 'found',
  label: { origin: `tool:${tool}`, integrity: 'untrusted' },
  revision: 0,
  chars: 5,
  ...more,
});
const outputOf = (callId: string): Draft[] => [
  v('scrub', ['toolOutput', `r1/${callId}`]),
  v('clean', ['toolOutput', `r1/${callId}`], { phase: 'rewrite' }),
  v('clean', ['toolOutput', `r1/${callId}`]),
  v('own', ['toolOutput', `r1/${callId}`]),
];
const completed = (text: string): Draft => ({ type: 'run.end', status: 'completed', text });

const deny: Refusal = { action: 'deny', surface: 'toolInput', by: 'policy', reason: 'not yours' };
const deniedEnd = { status: 'denied', content: '{}', errorClass: 'denied', retryable: false, label: core, refusal: deny } as const;

const parallel = answered([
  start(),
  ...accepted('r1'),
  modelStart(1),
  v('scrub', ['toolInput', 'r1/1.0']),
  v('policy', ['toolInput', 'r1/1.0'], { action: 'deny', reason: 'not yours' }),
  v('orders', ['toolInput', 'r1/1.0']),
  v('scrub', ['toolInput', 'r1/1.1'], { action: 'rewrite', reason: 'number' }),
  v('policy', ['toolInput', 'r1/1.1'], { revision: 1 }),
  modelEnd(1, { calls: [call('1.0', 'refund_order', { end: deniedEnd }), call('1.1', 'find', { input: { id: 'o1' }, revision: 1 })] }),
  toolEnd('1.0', 'refund_order', { ...deniedEnd, chars: 0 }),
  toolStart('1.1', 'find', { id: 'o1', revision: 1 }),
  ...outputOf('1.1'),
  toolEnd('1.1', 'find'),
  modelStart(2),
  ...outputAllowed(2),
  modelEnd(2, { text: 'Done.' }),
  completed('Done.'),
]);

const ask = { by: 'policy', reason: 'large' };
const approval = (
  id: string,
  { cents, revision = 0, asks = [ask] }: { readonly cents: string; readonly revision?: number; readonly asks?: readonly Ask[] },
): Draft => ({
  type: 'approval.request',
  approval: {
    id,
    surface: 'toolInput',
    run: 'r1',
    agentPath: ['triage'],
    subject: 'r1/1.0',
    revision,
    digest: `d${revision}`,
    reason: 'large',
    asks,
    label: { origin: 'agent:triage', integrity: 'trusted' },
    untrustedFrom: [],
    tool: 'refund_order',
    callId: '1.0',
    input: { cents },
    flow: { effect: 'write', authority: 'all', declared: false },
    mayHaveRun: false,
  },
});
const resume = (): Draft => ({ type: 'run.resume', writer: 'w2', manifest });
const edited = answered([
  start(),
  ...accepted('r1'),
  modelStart(1),
  v('scrub', ['toolInput', 'r1/1.0']),
  v('policy', ['toolInput', 'r1/1.0'], { action: 'ask', reason: 'large' }),
  v('orders', ['toolInput', 'r1/1.0']),
  modelEnd(1, { calls: [call('1.0', 'refund_order', { input: { cents: '12000' }, asks: [ask] })] }),
  approval('r1/p1', { cents: '12000' }),
  resume(),
  v('scrub', ['toolInput', 'r1/1.0'], { revision: 1, action: 'rewrite', reason: 'cap' }),
  v('policy', ['toolInput', 'r1/1.0'], { revision: 2 }),
  v('orders', ['toolInput', 'r1/1.0'], { revision: 2 }),
  {
    type: 'approval.resolve',
    id: 'r1/p1',
    subject: 'r1/1.0',
    revision: 2,
    decision: 'edit',
    digest: 'd2',
    input: { cents: '500' },
    changed: true,
  },
  approval('r1/p2', { cents: '500', revision: 2, asks: [{ by: 'core', reason: 'a guardrail changed the edited input' }] }),
  resume(),
  { type: 'approval.resolve', id: 'r1/p2', subject: 'r1/1.0', revision: 2, decision: 'approve', digest: 'd2' },
  v('policy', ['toolInput', 'r1/1.0'], { revision: 2, action: 'ask', reason: 'large' }),
  v('orders', ['toolInput', 'r1/1.0'], { revision: 2 }),
  toolStart('1.0', 'refund_order', { cents: '500', revision: 2 }),
  v('scrub', ['toolOutput', 'r1/1.0']),
  v('clean', ['toolOutput', 'r1/1.0'], { phase: 'rewrite', action: 'rewrite', reason: 'names' }),
  v('clean', ['toolOutput', 'r1/1.0'], { revision: 1 }),
  toolEnd('1.0', 'refund_order', { revision: 1 }),
  modelStart(2),
  v('scrub', ['output', 'r1/2'], { action: 'deny', reason: 'a number' }),
  modelEnd(2, { status: 'refused', chars: 9, refusal: { action: 'deny', surface: 'output', by: 'scrub', reason: 'a number' } }),
  modelStart(3),
  ...outputAllowed(3),
  modelEnd(3, { text: 'Refunded.' }),
  completed('Refunded.'),
]);

const greet: GuardEntry = { name: 'greet', surfaces: ['input', 'handoff'], phases: ['rewrite', 'check'] };
const billing: Manifest = { run: [scrub], agent: [greet], tools: {} };
const handedOver = answered([
  start({ manifest: { ...manifest, targets: { billing: [greet] } } }),
  ...accepted('r1'),
  modelStart(1),
  v('greet', ['handoff', 'r1/1.0'], { phase: 'rewrite' }),
  v('policy', ['handoff', 'r1/1.0']),
  v('greet', ['handoff', 'r1/1.0']),
  modelEnd(1, { calls: [call('1.0', 'transfer_to_billing', { kind: 'handoff', handoff: { to: 'billing', brief: 'b' } })] }),
  v('greet', ['input', 'r1/i1'], { phase: 'rewrite', action: 'rewrite', reason: 'name' }),
  v('scrub', ['input', 'r1/1.0/brief']),
  v('greet', ['input', 'r1/1.0/brief'], { phase: 'rewrite' }),
  v('greet', ['input', 'r1/1.0/input'], { revision: 1 }),
  {
    type: 'handoff',
    callId: '1.0',
    from: 'triage',
    to: 'billing',
    brief: 'b',
    revision: 0,
    view: [{ id: 'r1/i1', text: 'x' }],
    item: item('r1/1.0/brief', 'handoff'),
    revisions: { 'r1/i1': 1 },
    entry: { subject: 'r1/1.0/input', revision: 1, judged: ['r1/i1'] },
    manifest: billing,
  },
  { ...modelStart(2), agent: 'billing' },
  { ...v('scrub', ['output', 'r1/2']), agent: 'billing' },
  { ...modelEnd(2, { text: 'Hello.' }), agent: 'billing' },
  { ...completed('Hello.'), agent: 'billing' },
]);

const twoRuns = answered([
  start({ manifest: bare }),
  { type: 'input.accept', subject: 'r1/input', revision: 0, items: [item('r1/i1')] },
  modelStart(1),
  modelEnd(1, { text: 'One.' }),
  completed('One.'),
  start({ run: 'r2', manifest: { ...bare, run: [scrub] } }),
  v('scrub', ['input', 'r1/i1'], { run: 'r2', action: 'rewrite', reason: 'number' }),
  v('scrub', ['input', 'r1/1'], { run: 'r2' }),
  v('scrub', ['input', 'r2/i1'], { run: 'r2' }),
  {
    type: 'input.accept',
    run: 'r2',
    subject: 'r2/input',
    revision: 1,
    items: [item('r2/i1')],
    judged: ['r1/i1', 'r1/1'],
    changed: [{ id: 'r1/i1', text: 'x' }],
    revisions: { 'r1/i1': 1 },
  },
  { ...modelStart(1), run: 'r2' },
  { ...v('scrub', ['output', 'r2/1']), run: 'r2' },
  { ...modelEnd(1, { id: 'r2/1', text: 'Two.' }), run: 'r2' },
  { ...completed('Two.'), run: 'r2' },
]);

const childManifest: Manifest = { run: [scrub], agent: [], tools: {} };
const nested = answered([
  start({ manifest: childManifest }),
  v('scrub', ['input', 'r1/i1']),
  { type: 'input.accept', subject: 'r1/input', revision: 0, items: [item('r1/i1')] },
  modelStart(1),
  v('scrub', ['toolInput', 'r1/1.0']),
  modelEnd(1, { calls: [call('1.0', 'ask_helper', { input: { input: 'x' }, kind: 'agent' })] }),
  toolStart('1.0', 'ask_helper', { input: 'x' }),
  start({ run: 'r1/1.0', agent: 'helper', parent: 'r1', call: '1.0', manifest: childManifest }),
  { ...v('scrub', ['input', 'r1/1.0/i1']), run: 'r1/1.0', agent: 'helper', parent: 'r1' },
  {
    type: 'input.accept',
    subject: 'r1/1.0/input',
    revision: 0,
    items: [item('r1/1.0/i1', 'parent')],
    run: 'r1/1.0',
    agent: 'helper',
    parent: 'r1',
  },
  { ...modelStart(1), run: 'r1/1.0', agent: 'helper', parent: 'r1' },
  { ...v('scrub', ['output', 'r1/1.0/1'], { action: 'halt', reason: 'stop' }), run: 'r1/1.0', agent: 'helper', parent: 'r1' },
  {
    ...modelEnd(1, { id: 'r1/1.0/1', status: 'refused', refusal: { action: 'halt', surface: 'output', by: 'scrub', reason: 'stop' } }),
    run: 'r1/1.0',
    agent: 'helper',
    parent: 'r1',
  },
  {
    type: 'run.end',
    status: 'blocked',
    refusal: { action: 'halt', surface: 'output', by: 'scrub', reason: 'stop' },
    run: 'r1/1.0',
    agent: 'helper',
    parent: 'r1',
  },
  toolEnd('1.0', 'ask_helper', {
    status: 'error',
    errorClass: 'denied',
    label: core,
    refusal: { action: 'halt', surface: 'output', by: 'scrub', reason: 'stop' },
  }),
  { type: 'run.end', status: 'blocked', refusal: { action: 'halt', surface: 'output', by: 'scrub', reason: 'stop' } },
]);

const refusedInput = answered([
  start(),
  v('scrub', ['input', 'r1/i1'], { action: 'rewrite', reason: 'number' }),
  v('clean', ['input', 'r1/i1'], { phase: 'rewrite', revision: 1 }),
  v('clean', ['input', 'r1/input'], { revision: 1, action: 'deny', reason: 'no' }),
  v('quiet', ['input', 'r1/input'], { revision: 1 }),
  { type: 'run.end', status: 'blocked', refusal: { action: 'deny', surface: 'input', by: 'clean', reason: 'no' } },
]);

const quarantined = answered([
  start({ manifest: { ...bare, agent: [clean] } }),
  v('clean', ['input', 'r1/i1'], { phase: 'rewrite' }),
  v('clean', ['input', 'r1/input']),
  { type: 'input.accept', subject: 'r1/input', revision: 0, items: [item('r1/i1')] },
  modelStart(1),
  v('clean', ['output', 'r1/1'], { phase: 'rewrite', action: 'rewrite', reason: 'names' }),
  v('clean', ['output', 'r1/1'], { revision: 1, action: 'ask', reason: 'look' }),
  {
    type: 'approval.request',
    turn: 1,
    usage,
    approval: {
      id: 'r1/p1',
      surface: 'output',
      run: 'r1',
      agentPath: ['triage'],
      subject: 'r1/1',
      revision: 1,
      digest: 'd',
      reason: 'look',
      asks: [{ by: 'clean', reason: 'look' }],
      label: { origin: 'agent:triage', integrity: 'trusted' },
      untrustedFrom: [],
      key: 'r1/1',
      chars: 3,
      turn: 1,
      calls: 0,
    },
  },
  { type: 'run.resume', writer: 'w2', manifest: { ...bare, agent: [clean] } },
  { type: 'approval.resolve', id: 'r1/p1', subject: 'r1/1', revision: 1, decision: 'approve', digest: 'd' },
  v('clean', ['output', 'r1/1'], { revision: 1, action: 'ask', reason: 'look' }),
  modelEnd(1, { text: 'Yes.', revision: 1 }),
  completed('Yes.'),
]);

const logs: Readonly<Record<string, readonly Draft[]>> = {
  'a plain round with two parallel calls, one denied': parallel,
  'an edited, changed and approved call, and a repaired answer': edited,
  'a handoff': handedOver,
  'two runs of a session, the second with a new guardrail': twoRuns,
  'a child run that halts': nested,
  'a refused input': refusedInput,
  'an answer that waited in quarantine': quarantined,
};

describe('auditLog', () => {
  it.each(Object.entries(logs))('finds nothing in %s', (_name, drafts) => {
    expect(auditLog(logOf(drafts))).toEqual([]);
  });

  it.each(Object.entries(logs))('finds nothing in any prefix of %s', (_name, drafts) => {
    for (let length = 0; length <= drafts.length; length += 1) expect(auditLog(logOf(drafts.slice(0, length)))).toEqual([]);
  });

  it.each(Object.entries(logs))('finds each verdict that is taken out of %s', (_name, drafts) => {
    for (const [index, draft] of drafts.entries()) {
      if (draft.type !== 'guard.verdict') continue;
      expect(auditLog(logOf(drafts.filter((_, at) => at !== index))), `verdict ${index + 1} by ${draft.guardrail}`).not.toEqual([]);
    }
  });

  it.each(Object.entries(logs))(
    'finds it when another guardrail, subject, revision, phase, surface or level stands in a verdict of %s',
    (_name, drafts) => {
      for (const [index, draft] of drafts.entries()) {
        if (draft.type !== 'guard.verdict') continue;
        const alterations: Partial<GuardVerdictEvent>[] = [
          ...['scrub', 'clean', 'policy', 'orders', 'quiet', 'own', 'greet', 'nobody']
            .filter((name) => name !== draft.guardrail)
            .map((guardrail) => ({ guardrail })),
          ...['r1/9', 'r1/1.0', 'r1/1.1', 'r1/input', 'r1/i1', 'r2/i1']
            .filter((subject) => subject !== draft.subject)
            .map((subject) => ({ subject })),
          { revision: draft.revision + 1 },
          { revision: draft.revision - 1 },
          { phase: draft.phase === 'check' ? 'rewrite' : 'check' },
          ...(['input', 'toolInput', 'toolOutput', 'handoff', 'output'] as const)
            .filter((surface) => surface !== draft.surface)
            .map((surface) => ({ surface })),
          ...(['run', 'agent', 'tool'] as const).filter((level) => level !== draft.level).map((level) => ({ level })),
          { version: '7' },
          { shadow: draft.shadow ? undefined : true },
          { beside: true },
          { failure: 'threw' },
        ];
        for (const alteration of alterations) {
          const altered = drafts.with(index, { ...draft, ...alteration } as Draft);
          expect(auditLog(logOf(altered)), `verdict ${index + 1} with ${JSON.stringify(alteration)}`).not.toEqual([]);
        }
      }
    },
  );

  it.each(Object.entries(logs))('finds it when another action stands in a verdict of %s', (_name, drafts) => {
    for (const [index, draft] of drafts.entries()) {
      if (draft.type !== 'guard.verdict') continue;
      for (const action of ['allow', 'rewrite', 'ask', 'deny', 'halt'] as const) {
        if (action === draft.action) continue;
        expect(
          auditLog(logOf(drafts.with(index, { ...draft, action, reason: draft.reason ?? 'other' }))),
          `verdict ${index + 1} as ${action}`,
        ).not.toEqual([]);
      }
    }
  });

  it.each(Object.entries(logs))('finds any two events of %s that changed places, where the order means something', (_name, drafts) => {
    const isOrdered = ({ type }: Draft): boolean => type !== 'guard.verdict' && type !== 'run.resume';
    for (let index = 1; index < drafts.length; index += 1) {
      const [left, right] = [drafts[index - 1], drafts[index]];
      if (left === undefined || right === undefined || !isOrdered(left) || !isOrdered(right)) continue;
      if (left.type === 'tool.end' && right.type === 'tool.start') continue;
      const swapped = drafts.with(index - 1, right).with(index, left);
      expect(auditLog(logOf(swapped)), `events ${index} and ${index + 1}`).not.toEqual([]);
    }
  });

  it.each(Object.entries(logs))('finds each event other than a resume that is taken out of %s before its end', (_name, drafts) => {
    for (const [index, draft] of drafts.entries()) {
      if (index === drafts.length - 1 || draft.type === 'run.resume') continue;
      expect(auditLog(logOf(drafts.filter((_, at) => at !== index))), `event ${index + 1} ${draft.type}`).not.toEqual([]);
    }
  });

  it('finds gaps in the numbers, and events after the end', () => {
    const log = logOf(parallel);
    expect(auditLog({ version: 1, events: log.events.filter(({ seq }) => seq !== 3) })[0]).toMatch(/its number is 4, expected 3/);
    expect(auditLog(logOf([...parallel, modelStart(3)]))[0]).toMatch(/the run has ended/);
  });

  it('finds results that were swapped between two calls', () => {
    const drafts = [
      start({ manifest: bare }),
      { type: 'input.accept', subject: 'r1/input', revision: 0, items: [item('r1/i1')] },
      modelStart(1),
      modelEnd(1, { calls: [call('1.0', 'find'), call('1.1', 'find')] }),
      toolStart('1.0', 'find'),
      toolStart('1.1', 'find'),
      toolEnd('1.0', 'find'),
      toolEnd('1.1', 'find'),
    ] satisfies readonly Draft[];
    expect(auditLog(logOf(drafts))).toEqual([]);
    const swapped = [...drafts.slice(0, 6), toolEnd('1.0', 'find', { id: 'r1/1.1' }), toolEnd('1.1', 'find', { id: 'r1/1.0' })];
    expect(auditLog(logOf(swapped)).join()).toMatch(/the result of call 1.0 has the id r1\/1.1/);
  });

  it('finds an effect under an approval for another input or revision, and one without', () => {
    const at = edited.findIndex(({ type }) => type === 'tool.start');
    expect(auditLog(logOf(edited.with(at, toolStart('1.0', 'refund_order', { cents: '900', revision: 2 })))).join()).toMatch(
      /another input/,
    );
    expect(auditLog(logOf(edited.with(at, toolStart('1.0', 'refund_order', { cents: '500', revision: 1 })))).join()).toMatch(/revision 1/);
    const isAsked = ({ type }: Draft): boolean => type === 'approval.request' || type === 'approval.resolve' || type === 'run.resume';
    expect(auditLog(logOf(edited.slice(0, at + 1).filter((draft) => !isAsked(draft)))).join()).toMatch(
      /without the approval that policy asked for/,
    );
  });

  it('never throws on a log whose events were dropped, doubled or moved at will', () => {
    fc.assert(
      fc.property(fc.constantFrom(...Object.values(logs)), fc.array(fc.nat(40), { maxLength: 40 }), (drafts, order) => {
        const shuffled = order.flatMap((at) => drafts[at % drafts.length] ?? []);
        expect(Array.isArray(auditLog(logOf(shuffled)))).toBe(true);
      }),
    );
  });
});
