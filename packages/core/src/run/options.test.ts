import { describe, expect, it, test } from 'vitest';
import { z } from 'zod';
import { defineAgent } from '../define/agent.js';
import { agentSpecOf, guardrailSpecOf } from '../define/definition.js';
import { defineGuardrail } from '../define/guardrail.js';
import { defineTool } from '../define/tool.js';
import { allow } from '../define/verdict.js';
import { systemClock } from '../model/clock.js';
import type { Model } from '../model/types.js';
import { memorySession } from '../session/memory.js';
import type { Surface } from '../state/events.js';
import { readInput, readOptions, readSession } from './options.js';
import type { HistoryItem } from './types.js';

const model: Model = { id: 'none', provider: 'none', async *stream() {} };
const agent = agentSpecOf(defineAgent({ name: 'billing', instructions: '', model }), 'It');
const guardrail = (name: string, on: readonly Surface[] = ['input']) => defineGuardrail({ name, on, check: () => allow() });
const read = (given?: unknown, door: 'run' | 'stream' | 'resume' = 'run') => readOptions(door, given, agent);
const invalid = (message: unknown) => expect.objectContaining({ code: 'CONFIG_INVALID', message });
const store = memorySession();
const names =
  'context, limits, onLimit, guardrails, strict, release, reasoning, quarantine, approvals, standing, project, view, observers, signal, concurrency, model, settings, clock';

const defaults = {
  context: undefined,
  limits: undefined,
  onLimit: undefined,
  guards: [],
  observers: [],
  signal: undefined,
  clock: systemClock,
  settings: {
    release: 'checked',
    reasoning: 'hide',
    project: undefined,
    view: undefined,
    quarantine: undefined,
    signer: undefined,
    ignoresStanding: false,
    concurrency: 8,
    model: undefined,
    ofModel: undefined,
  },
  session: undefined,
  history: [],
  isAbandoning: false,
  runId: undefined,
  decisions: undefined,
  accept: undefined,
  input: undefined,
};

describe('the options of a call', () => {
  it.each([undefined, null, {}])('have their defaults where they are %o', (given) => {
    for (const door of ['run', 'stream', 'resume'] as const) expect(read(given, door)).toEqual(defaults);
  });

  it('of run and stream are kept as they were given', () => {
    const [context, limits, observer, watcher] = [{ user: 'u' }, { turns: 3 }, () => undefined, { 'run.end': () => undefined }];
    const { signal } = new AbortController();
    const clock = { now: () => 3, after: () => () => undefined };
    const quarantine = { put: async () => undefined, get: async () => undefined, delete: async () => undefined };
    const [project, view] = [() => '', () => []];
    const guard = guardrail('g');
    const given = {
      ...{ context, limits, onLimit: 'finalize', guardrails: [guard], observers: [observer, watcher], signal, clock },
      ...{ release: 'live', reasoning: 'show', project, view, quarantine, standing: 'ignore', concurrency: 1, model },
      ...{ settings: { seed: 1 }, session: { store, id: 's' }, history: [{ role: 'user', text: 'x' }], unfinished: 'abandon', runId: 'r1' },
    };
    for (const door of ['run', 'stream'] as const)
      expect(read(given, door)).toEqual({
        ...defaults,
        ...{ context, limits, onLimit: 'finalize', guards: [guardrailSpecOf(guard, 'It')], observers: [observer, watcher], signal, clock },
        settings: {
          ...{ release: 'live', reasoning: 'show', project, view, quarantine, signer: undefined, ignoresStanding: true, concurrency: 1 },
          ...{ model, ofModel: { seed: 1 } },
        },
        session: { store, id: 's', onConflict: undefined, waitMs: undefined },
        history: [{ role: 'user', text: 'x' }],
        isAbandoning: true,
        runId: 'r1',
      });
  });

  it('of resume are decisions, what has changed, and the input again', () => {
    const decisions = { p1: 'approve' };
    const given = { decisions, accept: 'changed', input: 'again', history: [{ role: 'assistant', text: 'y' }] };
    expect(read(given, 'resume')).toEqual({
      ...defaults,
      decisions,
      accept: 'changed',
      input: 'again',
      history: [{ role: 'assistant', text: 'y' }],
    });
  });

  it('say the defaults in words too', () => {
    expect(read({ onLimit: 'stop', release: 'checked', reasoning: 'hide', standing: 'use', strict: false })).toEqual({
      ...defaults,
      onLimit: 'stop',
    });
  });

  it('sign approvals with the key that is given', async () => {
    const { signer } = read({ approvals: { key: 'k'.repeat(32), forMs: 5 } }).settings;
    expect([await signer?.keys, signer?.forMs]).toEqual([[expect.objectContaining({ type: 'secret' })], 5]);
  });

  it.each([1, 2, 64, Number.POSITIVE_INFINITY])('take a concurrency of %s', (concurrency) => {
    expect(read({ concurrency }).settings.concurrency).toBe(concurrency);
  });

  it.each(['r', 'order 7', 'a.b:c'])('take the run id %s', (runId) => {
    expect(read({ runId }).runId).toBe(runId);
  });
});

const wholeRule = 'Give a whole number from 1.';
const runIdRule = 'Give a text without / and control characters, or leave it out.';
const observerRule = 'Give a function, or an object of functions by event type.';
test.each<[string, unknown, string]>([
  [
    'options that are a text',
    'fast',
    `The call of run was given "fast" as its options. Give an object with ${names}, session, history, unfinished, runId.`,
  ],
  ['a concurrency of zero', { concurrency: 0 }, `The call of run has 0 as \`concurrency\`. ${wholeRule}`],
  ['a concurrency below one', { concurrency: 0.5 }, `The call of run has 0.5 as \`concurrency\`. ${wholeRule}`],
  ['a concurrency of one and a half', { concurrency: 1.5 }, `The call of run has 1.5 as \`concurrency\`. ${wholeRule}`],
  ['a concurrency that is no number', { concurrency: Number.NaN }, `The call of run has NaN as \`concurrency\`. ${wholeRule}`],
  [
    'a concurrency below everything',
    { concurrency: Number.NEGATIVE_INFINITY },
    `The call of run has -Infinity as \`concurrency\`. ${wholeRule}`,
  ],
  ['a concurrency as text', { concurrency: '4' }, `The call of run has "4" as \`concurrency\`. ${wholeRule}`],
  ['a concurrency of null', { concurrency: null }, `The call of run has null as \`concurrency\`. ${wholeRule}`],
  [
    'a signal that is a controller',
    { signal: new AbortController() },
    'The call of run has an object as `signal`. Give an AbortSignal, or leave it out.',
  ],
  ['a signal that is null', { signal: null }, 'The call of run has null as `signal`. Give an AbortSignal, or leave it out.'],
  ['a run id with a slash', { runId: 'a/b' }, `The call of run has "a/b" as \`runId\`. ${runIdRule}`],
  ['a run id of two lines', { runId: 'a\nb' }, `The call of run has "a\\nb" as \`runId\`. ${runIdRule}`],
  ['a run id that is a number', { runId: 7 }, `The call of run has 7 as \`runId\`. ${runIdRule}`],
  ['an empty run id', { runId: '' }, `The call of run has "" as \`runId\`. ${runIdRule}`],
  [
    'a misspelt onLimit',
    { onLimit: 'finalise' },
    "The call of run has \"finalise\" as `onLimit`. Did you mean finalize? Give 'stop' or 'finalize'.",
  ],
  ['another release', { release: 'late' }, "The call of run has \"late\" as `release`. Did you mean live? Give 'checked' or 'live'."],
  ['another reasoning', { reasoning: true }, "The call of run has true as `reasoning`. Give 'hide' or 'show'."],
  ['another standing', { standing: 'never' }, "The call of run has \"never\" as `standing`. Give 'use' or 'ignore'."],
  ['another unfinished', { unfinished: 'resume' }, 'The call of run has "resume" as `unfinished`. Give \'abandon\'.'],
  ['a strict that is a text', { strict: 'yes' }, 'The call of run has "yes" as `strict`. Give true or false, or leave it out.'],
  ['a projection that is no function', { project: {} }, 'The call of run has an object as `project`. Give a function, or leave it out.'],
  ['a view that is no function', { view: 'last' }, 'The call of run has "last" as `view`. Give a function, or leave it out.'],
  [
    'approvals that are a key',
    { approvals: 'k'.repeat(32) },
    'The option `approvals` is no object of `key` and `forMs`. Give { key, forMs }: a key or a list of keys, the newest first, and how long a token holds, or leave `forMs` out.',
  ],
  ['guardrails that are none', { guardrails: guardrail('g') }, 'The option `guardrails` is an object. Give a list of guardrails.'],
  ['guardrails that are null', { guardrails: null }, 'The option `guardrails` is null. Give a list of guardrails.'],
  [
    'a guardrail that is none',
    { guardrails: [guardrail('g'), {}] },
    'Entry 2 in `guardrails` of the run is an object. Expected a guardrail made by defineGuardrail or definePolicy.',
  ],
  ['observers that are none', { observers: () => undefined }, 'The call of run has a function as `observers`. Give a list.'],
  ['an observer that is a text', { observers: [() => undefined, 'log'] }, `An entry of the option \`observers\` is "log". ${observerRule}`],
  ['an observer that is a list', { observers: [[() => undefined]] }, `An entry of the option \`observers\` is a list. ${observerRule}`],
  [
    'an observer of an event that is misspelt',
    { observers: [{ 'tool.ended': () => undefined }] },
    expect.stringMatching(
      /^An observer asks for "tool\.ended", which is no event\. Did you mean tool\.end\? The events are run\.start, .*observer\.error\. /,
    ),
  ],
  [
    'an observer of no event at all',
    { observers: [{ onToken: () => undefined }] },
    expect.stringContaining('asks for "onToken", which is no event. '),
  ],
  [
    'an observer that is no function',
    { observers: [{ 'tool.end': 'log' }] },
    'An observer has "log" for tool.end. Give a function of the event, or leave it out.',
  ],
  [
    'an observer whose functions stand in its class',
    {
      observers: [
        new (class {
          'tool.end'(): void {}
        })(),
      ],
    },
    'An observer is an object of a class, whose methods are not looked at. Give a function, or a plain object of functions by event type.',
  ],
  ['an observer that is null', { observers: [null] }, `An entry of the option \`observers\` is null. ${observerRule}`],
  ['an observer that is undefined', { observers: [undefined] }, `An entry of the option \`observers\` is undefined. ${observerRule}`],
  [
    'a quarantine that cannot delete',
    { quarantine: { put() {}, get() {} } },
    'The option `quarantine` is an object. Give an object with put, get, delete.',
  ],
  ['a quarantine that is null', { quarantine: null }, 'The option `quarantine` is null. Give an object with put, get, delete.'],
  [
    'a quarantine that is a function',
    { quarantine: Object.assign(() => undefined, { put() {}, get() {}, delete() {} }) },
    'The option `quarantine` is a function. Give an object with put, get, delete.',
  ],
  ['a model by its name', { model: 'big' }, 'The option `model` is "big". Give an object with stream.'],
  ['a model that cannot stream', { model: { id: 'x', provider: 'y' } }, 'The option `model` is an object. Give an object with stream.'],
  ['a clock without timers', { clock: { now: () => 1 } }, 'The option `clock` is an object. Give an object with now, after.'],
  [
    'settings that are a text',
    { settings: 'cold' },
    '`settings` of the run was given "cold" as its options. Give an object with temperature, topP, maxTokens, toolChoice, parallelToolCalls, stopSequences, reasoning, seed, metadata, headers, extra.',
  ],
  ['a history that is a text', { history: 'hello' }, 'The call of run has "hello" as `history`. Give a list: ["hello"].'],
])('%s is refused before anything is run', (_what, given, message) => {
  expect(() => read(given)).toThrow(invalid(message));
});

test.each([
  ['run', 'decisions'],
  ['run', 'accept'],
  ['run', 'input'],
  ['stream', 'decisions'],
  ['resume', 'session'],
  ['resume', 'unfinished'],
  ['resume', 'runId'],
] as const)('%s has no option %s', (door, name) => {
  expect(() => read({ [name]: undefined }, door)).toThrow(
    expect.objectContaining({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining(`The call of ${door} has an option "${name}", which does not exist.`),
    }),
  );
});

test('resume takes changes by their one name', () => {
  expect(() => read({ accept: true }, 'resume')).toThrow(invalid("The call of resume has true as `accept`. Give 'same' or 'changed'."));
});

describe('the guardrails of a run', () => {
  it('are the same list for the same list, so that what is made of them is made once', () => {
    const list = [guardrail('a'), guardrail('b')];
    const { guards } = read({ guardrails: list });
    expect(guards.map(({ name }) => name)).toEqual(['a', 'b']);
    expect(read({ guardrails: list }).guards).toBe(guards);
    expect(Object.isFrozen(guards)).toBe(true);
    expect(read().guards).toBe(read({}).guards);
    expect(Object.isFrozen(read().guards)).toBe(true);
  });

  it('are read anew when their list was changed', () => {
    const list = [guardrail('a'), guardrail('b')];
    const named = () => read({ guardrails: list }).guards.map(({ name }) => name);
    expect(named()).toEqual(['a', 'b']);
    list.push(guardrail('c'));
    expect(named()).toEqual(['a', 'b', 'c']);
    list.length = 1;
    expect(named()).toEqual(['a']);
    list[0] = guardrail('d');
    expect(named()).toEqual(['d']);
    list.length = 0;
    expect(named()).toEqual([]);
  });

  it('have names of their own', () => {
    expect(() => read({ guardrails: [guardrail('a'), guardrail('a')] })).toThrow(
      expect.objectContaining({
        code: 'NAME_TAKEN',
        message: 'Guardrail name a is used twice by the run. Give one another name, or list it once.',
      }),
    );
  });
});

describe('a strict run', () => {
  const tool = defineTool({ name: 'pay', description: '', input: z.object({}), execute: () => '' });
  const open = agentSpecOf(
    defineAgent({ name: 'open', instructions: '', model, tools: [tool], providerTools: [{ name: 'web', unguarded: true }] }),
    'It',
  );

  it('is refused where a surface has no guardrail, with every such place', () => {
    expect(() => readOptions('run', { strict: true, guardrails: [guardrail('g', ['input', 'toolInput'])] }, open)).toThrow(
      invalid(
        'The run is strict, and these surfaces have no guardrail: open: output; open > pay: toolOutput; open > web (runs at the provider): toolInput; open > web (runs at the provider): toolOutput. Add guardrails that stand there (coverage() lists all), or leave `strict` out.',
      ),
    );
  });

  it('is taken where every surface has one, as is one that is not strict where none has', () => {
    const guards = [guardrail('g', ['input', 'output'])];
    expect(read({ strict: true, guardrails: guards }).guards).toHaveLength(1);
    expect(readOptions('run', { strict: false }, open).guards).toHaveLength(0);
    expect(readOptions('run', {}, open).guards).toHaveLength(0);
  });
});

describe('a session', () => {
  it('is a store and an id, and how long to wait for the run before', () => {
    expect(readSession(undefined)).toBeUndefined();
    expect(readSession({ store, id: 'a' })).toEqual({ store, id: 'a', onConflict: undefined, waitMs: undefined });
    expect(readSession({ store, id: 'a', onConflict: 'fail' })).toEqual({ store, id: 'a', onConflict: 'fail', waitMs: undefined });
    expect(readSession({ store, id: 'a', onConflict: 'queue' })).toEqual({ store, id: 'a', onConflict: 'queue', waitMs: undefined });
    for (const waitMs of [0, 2.5, Number.POSITIVE_INFINITY])
      expect(readSession({ store, id: 'a', onConflict: 'queue', waitMs })).toEqual({ store, id: 'a', onConflict: 'queue', waitMs });
  });

  const example = "Give { store, id }, for example { store: memorySession(), id: 'chat-1' }.";
  const waiting = 'Give milliseconds from 0, or leave it out.';
  test.each<[string, unknown, string]>([
    ['null', null, `The option \`session\` is null without a \`store\`. ${example}`],
    ['an id alone', 'chat-1', `The option \`session\` is "chat-1" without a \`store\`. ${example}`],
    ['a session without a store', { id: 'a' }, `The option \`session\` is an object without a \`store\`. ${example}`],
    ['a store that is null', { store: null, id: 'a' }, 'The option `session.store` is null. Give an object with load, append.'],
    [
      'a store that cannot append',
      { store: { load() {} }, id: 'a' },
      'The option `session.store` is an object. Give an object with load, append.',
    ],
    ['no id', { store }, 'The option `session` has undefined as `id`. Give a text that is not empty.'],
    [
      'a misspelt part',
      { store, id: 'a', onconflict: 'queue' },
      'The option `session` has an option "onconflict", which does not exist. Did you mean onConflict? The options are store, id, onConflict, waitMs.',
    ],
    ['an empty id', { store, id: '' }, 'The option `session` has "" as `id`. Give a text that is not empty.'],
    ['an id that is a number', { store, id: 7 }, 'The option `session` has 7 as `id`. Give a text that is not empty.'],
    [
      'another onConflict',
      { store, id: 'a', onConflict: 'wait' },
      "The option `session` has \"wait\" as `onConflict`. Give 'fail' or 'queue', or leave it out.",
    ],
    [
      'an option that does not exist',
      { store, id: 'a', onConflicts: 'queue' },
      'The option `session` has an option "onConflicts", which does not exist. Did you mean onConflict? The options are store, id, onConflict, waitMs.',
    ],
    ['a time below zero', { store, id: 'a', onConflict: 'queue', waitMs: -1 }, `The option \`session\` has -1 as \`waitMs\`. ${waiting}`],
    [
      'a time that is no number',
      { store, id: 'a', onConflict: 'queue', waitMs: Number.NaN },
      `The option \`session\` has NaN as \`waitMs\`. ${waiting}`,
    ],
    ['a time as text', { store, id: 'a', onConflict: 'queue', waitMs: '5' }, `The option \`session\` has "5" as \`waitMs\`. ${waiting}`],
    [
      'a time without a queue',
      { store, id: 'a', waitMs: 5 },
      "The option `session` has `waitMs` and does not queue. Add onConflict: 'queue', or leave `waitMs` out.",
    ],
    [
      'a time for who fails at once',
      { store, id: 'a', onConflict: 'fail', waitMs: 5 },
      "The option `session` has `waitMs` and does not queue. Add onConflict: 'queue', or leave `waitMs` out.",
    ],
  ])('%s is refused', (_what, given, message) => {
    expect(() => readSession(given)).toThrow(invalid(message));
  });
});

const historyRule = "Give { role: 'user' | 'assistant', text }: other roles, tool calls and results are not taken from elsewhere.";
test.each<[string, unknown, string]>([
  ['nothing', undefined, `An item of the option \`history\` has the role undefined and a text that is undefined. ${historyRule}`],
  ['null', null, `An item of the option \`history\` has the role undefined and a text that is undefined. ${historyRule}`],
  ['a text', 'hello', `An item of the option \`history\` has the role undefined and a text that is undefined. ${historyRule}`],
  [
    'a system message',
    { role: 'system', text: 'Obey.' },
    `An item of the option \`history\` has the role "system" and a text that is string. ${historyRule}`,
  ],
  [
    'a message without text',
    { role: 'user', parts: [] },
    `An item of the option \`history\` has the role "user" and a text that is undefined. ${historyRule}`,
  ],
  [
    'an answer of parts',
    { role: 'assistant', text: ['x'] },
    `An item of the option \`history\` has the role "assistant" and a text that is object. ${historyRule}`,
  ],
])('%s in a history is refused, without its words', (_what, item, message) => {
  expect(() => read({ history: [{ role: 'user', text: 'hello' }, item] })).toThrow(invalid(message));
});

test('a history that is changed after the call changes nothing', () => {
  const item = { role: 'user', text: 'hello' };
  const { history } = read({ history: [item] });
  item.text = 'changed';
  expect(history).toEqual([{ role: 'user', text: 'hello' }]);
});

const trusted = { origin: 'user', integrity: 'trusted' } as const;
const untrusted = { origin: 'user', integrity: 'untrusted' } as const;
const inputOf = (input: unknown, history: readonly HistoryItem[] = []) => readInput(input, history, { run: 'r1', agent: 'billing' });
const partsOf = (...parts: readonly unknown[]) => {
  const [message] = inputOf(parts);
  return message?.role === 'user' ? message.parts : undefined;
};

describe('what a run begins with', () => {
  it('is a trusted message of the user', () => {
    expect(inputOf('Where is it?')).toStrictEqual([
      { role: 'user', id: 'r1/i1', via: 'user', parts: [{ type: 'text', text: 'Where is it?', label: trusted }], label: trusted },
    ]);
    expect(inputOf('')).toStrictEqual([
      { role: 'user', id: 'r1/i1', via: 'user', parts: [{ type: 'text', text: '', label: trusted }], label: trusted },
    ]);
  });

  it('comes after what was said elsewhere, which is untrusted', () => {
    const history = [
      { role: 'user', text: 'Hello' },
      { role: 'assistant', text: 'Hi' },
    ] as const;
    expect(inputOf('So?', history)).toStrictEqual([
      { role: 'user', id: 'r1/i1', via: 'session', parts: [{ type: 'text', text: 'Hello', label: untrusted }], label: untrusted },
      {
        role: 'assistant',
        id: 'r1/i2',
        agent: 'billing',
        text: 'Hi',
        calls: [],
        label: { origin: 'agent:billing', integrity: 'untrusted' },
      },
      { role: 'user', id: 'r1/i3', via: 'user', parts: [{ type: 'text', text: 'So?', label: trusted }], label: trusted },
    ]);
  });

  it('may be parts: texts, images and files, as data or by their address', () => {
    const given = [
      { type: 'text', text: 'Look.' },
      { type: 'image', mediaType: 'image/png', data: 'AAAA' },
      { type: 'image', url: 'https://a.example/x.png' },
      { type: 'image', mediaType: 'image/png', url: 'https://a.example/y.png' },
      { type: 'file', mediaType: 'application/pdf', data: 'BBBB', name: 'bill.pdf' },
      { type: 'file', mediaType: 'application/pdf', url: 'https://a.example/z.pdf' },
    ];
    expect(partsOf(...given)).toStrictEqual(given.map((part) => ({ ...part, label: trusted })));
  });

  it('keeps of a part only what its kind has', () => {
    expect(
      partsOf(
        { type: 'text', text: 'a', data: 'AAAA', name: 'b' },
        { type: 'image', mediaType: 'image/png', data: 'AAAA', name: 'x.png', text: 'c' },
        { type: 'file', mediaType: 'text/plain', data: 'AAAA', name: 7 },
      ),
    ).toStrictEqual([
      { type: 'text', text: 'a', label: trusted },
      { type: 'image', mediaType: 'image/png', data: 'AAAA', label: trusted },
      { type: 'file', mediaType: 'text/plain', data: 'AAAA', label: trusted },
    ]);
  });

  it('is as untrusted as its first untrusted part', () => {
    const mail = { origin: 'tool:mail', integrity: 'untrusted' };
    const page = { origin: 'tool:page', integrity: 'untrusted' };
    const developer = { origin: 'developer', integrity: 'trusted' };
    const text = (label?: unknown) => ({ type: 'text', text: 'x', ...(label === undefined ? {} : { label }) });
    expect(inputOf([text(), text(mail), text(page)])[0]?.label).toStrictEqual(mail);
    expect(inputOf([text(developer), text()])[0]?.label).toStrictEqual(trusted);
    expect(partsOf(text(mail), text(developer))).toStrictEqual([
      { type: 'text', text: 'x', label: mail },
      { type: 'text', text: 'x', label: developer },
    ]);
  });

  it('takes of a label its two fields', () => {
    expect(partsOf({ type: 'text', text: 'x', label: { origin: 'developer', integrity: 'trusted', secret: 1 } })).toStrictEqual([
      { type: 'text', text: 'x', label: { origin: 'developer', integrity: 'trusted' } },
    ]);
  });

  it('cannot be changed', () => {
    const given = [{ type: 'text', text: 'x' }];
    const [message] = inputOf(given);
    expect(
      [message, message?.label, message?.role === 'user' && message.parts, message?.role === 'user' && message.parts[0]].every(
        Object.isFrozen,
      ),
    ).toBe(true);
    expect([Object.isFrozen(given), Object.isFrozen(given[0])]).toStrictEqual([false, false]);
  });
});

const partRule =
  "Give a text, or a list of parts: { type: 'text', text }, { type: 'image', mediaType, data | url }, { type: 'file', mediaType, data | url }";
const unfit = (type: string) => `A part of the run's input has the type ${type} and does not fit. ${partRule}.`;
const labelRule = "The label of an input part does not fit. Give { origin, integrity: 'trusted' | 'untrusted' }, or leave it out.";
const png = { type: 'image', mediaType: 'image/png' };
test.each<[string, unknown, string]>([
  ['nothing', undefined, `The input of the run is undefined. ${partRule}.`],
  ['an object', { type: 'text', text: 'x' }, `The input of the run is an object. ${partRule}.`],
  ['no part', [], `The input of the run is an empty list. ${partRule}.`],
  [
    'a message',
    [{ role: 'user', text: 'x' }],
    `A part of the run's input has a role. ${partRule}; what was said before goes into the option \`history\`.`,
  ],
  [
    'a text with a role',
    [{ type: 'text', text: 'x', role: 'system' }],
    `A part of the run's input has a role. ${partRule}; what was said before goes into the option \`history\`.`,
  ],
  ['a hole', new Array(1), unfit('undefined')],
  ['null', [null], unfit('undefined')],
  ['a bare text', ['x'], unfit('undefined')],
  ['an unknown kind', [{ type: 'audio', mediaType: 'audio/wav', data: 'AAAA' }], unfit('"audio"')],
  ['a text without text', [{ type: 'text' }], unfit('"text"')],
  ['a kind that is no text', [{ type: 'thought', text: 'x' }], unfit('"thought"')],
  ['an image of nothing', [png], unfit('"image"')],
  ['an image twice', [{ ...png, data: 'AAAA', url: 'https://a.example/' }], unfit('"image"')],
  ['an image without its type', [{ type: 'image', data: 'AAAA' }], unfit('"image"')],
  ['a file without its type', [{ type: 'file', url: 'https://a.example/' }], unfit('"file"')],
  ['a file whose type is a number', [{ type: 'file', mediaType: 3, data: 'AAAA' }], unfit('"file"')],
  ['an image by its address whose type is no text', [{ type: 'image', mediaType: 3, url: 'https://a.example/' }], unfit('"image"')],
  ['a label that is a text', [{ type: 'text', text: 'x', label: 'trusted' }], labelRule],
  ['a label that is null', [{ type: 'text', text: 'x', label: null }], labelRule],
  ['a label without an origin', [{ type: 'text', text: 'x', label: { integrity: 'trusted' } }], labelRule],
  ['a label of another integrity', [{ type: 'text', text: 'x', label: { origin: 'user', integrity: 'high' } }], labelRule],
])('%s as input is refused', (_what, input, message) => {
  expect(() => inputOf(input)).toThrow(invalid(message));
});
