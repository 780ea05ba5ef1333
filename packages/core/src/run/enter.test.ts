import { describe, expect, it } from 'vitest';
import { agentOf, calls, entered, eventsOf, gate, scripted, settle, tool } from '../../test/scene.js';
import { defineGuardrail } from '../define/guardrail.js';
import { handoff } from '../define/handoff.js';
import type { GuardInfo, Guardrail, InputSubject } from '../define/types.js';
import { allow, deny, halt, rewrite } from '../define/verdict.js';
import type { AssistantMessage, Label, Message, ToolMessage, UserMessage } from '../model/types.js';
import { memorySession } from '../session/memory.js';
import type { Entry } from './enter.js';
import { enter, messageText } from './enter.js';
import type { RunHandle } from './handle.js';
import { standNow } from './plan.js';
import { run } from './run.js';

const trusted: Label = { origin: 'user', integrity: 'trusted' };
const untrusted: Label = { origin: 'tool:mail', integrity: 'untrusted' };
const text = (value: string, label: Label = trusted) => ({ type: 'text', text: value, label }) as const;
const user = (id: string, value: string, label = trusted): UserMessage => ({
  role: 'user',
  id,
  via: 'user',
  parts: [text(value, label)],
  label,
});
const answer = (id: string, value: string, ...made: AssistantMessage['calls']): AssistantMessage => ({
  role: 'assistant',
  id,
  agent: 'desk',
  text: value,
  calls: made,
  label: trusted,
});
const result = (id: string, content: ToolMessage['content']): ToolMessage => ({
  role: 'tool',
  id,
  callId: '1.0',
  tool: 'mail',
  content,
  isError: false,
  label: untrusted,
});
const call = (id: string, name: string, input: object) => ({ id, name, input }) as AssistantMessage['calls'][number];
const image = { type: 'image', mediaType: 'image/png', data: 'iVBORw0KGgo=' } as const;

type Check = (subject: InputSubject, info: GuardInfo<unknown>) => unknown;
const checking = (name: string, check: Check) => defineGuardrail({ name, on: ['input'], check: check as () => ReturnType<typeof allow> });
const mending = (name: string, make: Check, more: object = {}) =>
  defineGuardrail({ name, on: ['input'], rewrite: make as () => ReturnType<typeof allow>, ...more });
const shout = (name = 'shouts') => mending(name, ({ content }) => rewrite(content.toUpperCase(), 'louder'));
/** Lets everything pass, and keeps what it was shown. */
function watching(name = 'sees') {
  const seen: InputSubject[] = [];
  const told: { readonly agent: string; readonly messages: readonly Message[] }[] = [];
  const guard = checking(name, (subject, { agent, messages }) => {
    seen.push(subject);
    told.push({ agent, messages: [...messages] });
    return allow();
  });
  return { guard, seen, told };
}

/** A run with these guardrails, and what is judged as it enters the view of its agent. */
async function entering(guardrails: readonly Guardrail[], entry: Partial<Entry<Message>> = {}) {
  const handle = await entered(agentOf({ guardrails }), { runId: 'r1' });
  return { handle, outcome: await enter(handle, entryOf(handle, entry)) };
}
const entryOf = (handle: RunHandle, entry: Partial<Entry<Message>>): Entry<Message> => ({
  subject: 'r1/input',
  agent: 'desk',
  fresh: [],
  history: [],
  guards: standNow(handle).input,
  stays: 0,
  ...entry,
});
const verdicts = (handle: RunHandle) =>
  eventsOf(handle.root, 'guard.verdict').map(
    ({ guardrail, subject, revision, phase, action }) => `${guardrail} ${phase} ${subject}@${revision} ${action}`,
  );
const nothing = { refusal: undefined, isStopped: false, changed: [], judged: [], revisions: {}, revision: 0 };

describe('the text of a message', () => {
  it.each([
    ['a user', user('u', 'Hello.'), 'Hello.'],
    ['a model', answer('a', 'Hello.', call('1.0', 'look', { at: 1 })), 'Hello.'],
    ['a tool', result('t', 'Mail.'), 'Mail.'],
    ['a tool in parts', result('t', [text('Mail'), text(' and more.')]), expect.stringContaining('Mail')],
  ])('of %s is what it says', (_who, message, expected) => {
    expect(messageText(message)).toEqual(expected);
  });
});

describe('what enters a view', () => {
  const hello = user('r1/i2', 'hello');
  const sky = user('r1/i3', 'sky');

  it('goes as it is where nobody stands there', async () => {
    const { outcome, handle } = await entering([], { fresh: [hello], history: [user('old', 'old')] });
    expect(outcome).toEqual({ ...nothing, items: [hello] });
    expect(verdicts(handle)).toEqual([]);
  });

  it('is shown to the checks whole, once', async () => {
    const { guard, seen, told } = watching();
    const { outcome, handle } = await entering([guard], { fresh: [hello, sky] });
    expect(outcome).toEqual({ ...nothing, items: [hello, sky] });
    expect(seen).toEqual([
      {
        surface: 'input',
        content: 'hello\nsky',
        label: trusted,
        items: [
          { id: 'r1/i2', role: 'user', via: 'user', label: trusted, text: 'hello', parts: [text('hello')] },
          { id: 'r1/i3', role: 'user', via: 'user', label: trusted, text: 'sky', parts: [text('sky')] },
        ],
      },
    ]);
    expect(Object.isFrozen(seen[0]?.items[0])).toBe(true);
    expect(told).toEqual([{ agent: 'desk', messages: [] }]);
    expect(verdicts(handle)).toEqual(['sees check r1/input@0 allow']);
  });

  it('is put to the rewrites one by one, then whole to the checks in the form that passed', async () => {
    const { guard, seen } = watching();
    const mends = mending('mends', ({ content }) => (content === 'sky' ? allow() : rewrite(`${content}!`, 'louder')));
    const { outcome, handle } = await entering([mends, guard, shout()], { fresh: [hello, sky] });
    const items = [user('r1/i2', 'HELLO!'), user('r1/i3', 'SKY')];
    expect(outcome).toEqual({ ...nothing, items, revisions: { 'r1/i2': 2, 'r1/i3': 1 }, revision: 3 });
    expect(seen.map(({ content }) => content)).toEqual(['HELLO!\nSKY']);
    expect(verdicts(handle)).toEqual([
      'mends rewrite r1/i2@0 rewrite',
      'shouts rewrite r1/i2@1 rewrite',
      'mends rewrite r1/i3@0 allow',
      'shouts rewrite r1/i3@0 rewrite',
      'sees check r1/input@3 allow',
    ]);
    expect(Object.isFrozen(outcome.items[0])).toBe(true);
  });

  it('counts the rewrites of an earlier part of the entry', async () => {
    const { outcome, handle } = await entering([shout(), watching().guard], { fresh: [hello], revision: 2 });
    expect(outcome).toMatchObject({ revision: 3, revisions: { 'r1/i2': 1 } });
    expect(verdicts(handle).at(-1)).toBe('sees check r1/input@3 allow');
    expect((await entering([watching().guard], { fresh: [hello], revision: 2 })).outcome.revision).toBe(2);
  });

  it.each([
    ['at once', (verdict: unknown) => verdict],
    ['later', async (verdict: unknown) => verdict],
  ])('is refused by the first rewrite that refuses it %s: nothing more is asked', async (_when, answers) => {
    const { guard, seen } = watching();
    const refuses = mending('refuses', ({ content }) => answers(content === 'hello' ? deny('no') : allow()));
    for (const revision of [undefined, 4]) {
      const { outcome, handle } = await entering([refuses, guard], { fresh: [sky, hello, sky], revision });
      const refusal = { action: 'deny', surface: 'input', by: 'refuses', reason: 'no' };
      expect(outcome).toEqual({ ...nothing, refusal, items: [sky, hello, sky], revision: revision ?? 0 });
      expect(verdicts(handle)).toEqual(['refuses rewrite r1/i3@0 allow', 'refuses rewrite r1/i2@0 deny']);
    }
    expect(seen).toEqual([]);
  });

  it('waits for rewrites that answer later, in their order', async () => {
    const slow = mending('slow', async ({ content }) => rewrite(`${content}!`, 'louder'));
    const { outcome, handle } = await entering([slow, watching().guard], { fresh: [hello, sky] });
    expect(outcome.items.map(messageText)).toEqual(['hello!', 'sky!']);
    expect(verdicts(handle)).toEqual(['slow rewrite r1/i2@0 rewrite', 'slow rewrite r1/i3@0 rewrite', 'sees check r1/input@2 allow']);
  });

  it('is refused by the strictest check', async () => {
    const { outcome } = await entering([checking('denies', () => deny('no')), checking('halts', () => halt('stop'))], { fresh: [hello] });
    expect(outcome).toMatchObject({ refusal: { action: 'halt', by: 'halts' }, items: [hello], judged: [] });
  });

  it.each([
    ['rewrite', 'rewrite', true],
    ['check', 'check', true],
    ['check', 'check', false],
  ])('is stopped with the run while a %s looks', async (_what, phase, isFresh) => {
    const hangs =
      phase === 'rewrite' ? mending('hangs', () => new Promise(() => undefined)) : checking('hangs', () => new Promise(() => undefined));
    const handle = await entered(agentOf({ guardrails: [hangs] }), { runId: 'r1' });
    const going = enter(handle, entryOf(handle, isFresh ? { fresh: [hello] } : { history: [hello] }));
    await settle();
    handle.abort({ kind: 'cancel', reason: undefined });
    expect(await going).toEqual({ ...nothing, isStopped: true, items: isFresh ? [hello] : [] });
  });

  it('is stopped where a check stopped the run itself', async () => {
    const handle = await entered(agentOf({ guardrails: [checking('stops', () => stops())] }), { runId: 'r1' });
    const stops = () => {
      handle.abort({ kind: 'cancel', reason: undefined });
      return allow();
    };
    expect(await enter(handle, entryOf(handle, { fresh: [hello] }))).toEqual({ ...nothing, isStopped: true, items: [hello] });
  });

  it('is committed with what it is about', async () => {
    const { handle } = await entering([watching().guard], { fresh: [hello], about: '1.0' });
    handle.append({ type: 'tool.start', callId: '1.0', tool: 'look', revision: 0, input: {}, idempotencyKey: 'k' });
    expect(handle.root.events.at(-1)).toMatchObject({ answers: 'a' });
    const { handle: other } = await entering([shout()], { fresh: [hello], about: '1.0' });
    other.append({ type: 'tool.start', callId: '1.0', tool: 'look', revision: 0, input: {}, idempotencyKey: 'k' });
    expect(other.root.events.at(-1)).toMatchObject({ answers: 'r' });
  });

  it('has the label of what is not trusted in it', async () => {
    const { guard, seen } = watching();
    await entering([guard], { fresh: [hello, user('r1/i3', 'mail', untrusted)] });
    expect(seen[0]?.label).toEqual(untrusted);
  });

  it('is refused where a rewrite makes no sense', async () => {
    const { outcome } = await entering([mending('breaks', () => rewrite([{ start: 4, end: 2, with: '' }], 'odd'))], { fresh: [hello] });
    expect(outcome.refusal).toMatchObject({ by: 'breaks', failed: true });
  });
});

describe('history that is new to an agent', () => {
  const question = user('h1', 'what?');
  const looked = answer('h2', 'So.', call('1.0', 'look', { at: 'sky' }), call('1.1', 'rest', {}));
  const seen = result('h3', 'blue');
  const history = [question, looked, seen];
  const lines = 'look {"at":"sky"}';

  it('is judged with what is fresh, and is named', async () => {
    const { guard, seen: subjects } = watching();
    const { outcome } = await entering([guard], { history, fresh: [user('r1/i2', 'hello')] });
    expect(outcome).toEqual({ ...nothing, items: [user('r1/i2', 'hello')], judged: ['h1', 'h2', 'h3'] });
    expect(subjects[0]).toMatchObject({ content: `what?\nSo.\n${lines}\nblue\nhello`, label: untrusted });
    expect(subjects[0]?.items.slice(0, 3)).toEqual([
      { id: 'h1', role: 'user', via: 'user', label: trusted, text: 'what?', parts: [text('what?')] },
      {
        id: 'h2',
        role: 'assistant',
        via: 'session',
        label: trusted,
        text: `So.\n${lines}`,
        parts: [{ type: 'text', text: `So.\n${lines}` }],
      },
      { id: 'h3', role: 'tool', via: 'session', label: untrusted, text: 'blue', parts: [{ type: 'text', text: 'blue' }] },
    ]);
  });

  it('is judged where nothing is fresh', async () => {
    const { guard, seen: subjects } = watching();
    const { outcome } = await entering([guard], { history: [question] });
    expect(outcome.judged).toEqual(['h1']);
    expect(subjects).toHaveLength(1);
  });

  it('is nothing to ask about where there is neither', async () => {
    const { guard, seen: subjects } = watching();
    const { outcome } = await entering([guard, shout()]);
    expect(outcome).toEqual({ ...nothing, items: [] });
    expect(subjects).toEqual([]);
  });

  it('is shown with the parts of a result, and an answer of nothing but calls as their lines', async () => {
    const { guard, seen: subjects } = watching();
    await entering([guard], { history: [answer('h2', '', call('1.0', 'look', { at: 'sky' })), result('h3', [text('blue'), image])] });
    expect(subjects[0]?.items.map((item) => item.text)).toEqual([lines, expect.stringContaining('blue')]);
    expect(subjects[0]?.items[1]?.parts).toEqual([text('blue'), image]);
  });

  it('is told apart from its rewritten form: where it was changed, and how', async () => {
    const { guard, told } = watching();
    const { outcome } = await entering([shout(), guard], { history, fresh: [user('r1/i2', 'hello')], agent: 'other' });
    expect(outcome.items.map(messageText)).toEqual(['HELLO']);
    expect(outcome.changed).toEqual([
      { id: 'h1', text: 'WHAT?' },
      { id: 'h2', text: 'SO.', dropsInputs: true },
      { id: 'h3', text: 'BLUE' },
    ]);
    expect(outcome.revisions).toEqual({ h1: 1, h2: 1, h3: 1, 'r1/i2': 1 });
    expect(told[0]?.agent).toBe('other');
    expect(told[0]?.messages.map(messageText)).toEqual(['WHAT?', 'SO.', 'BLUE']);
  });

  it('is seen by rewrites as the other agent will see it, and by checks too where nothing was changed', async () => {
    const agents: unknown[] = [];
    const { guard, told } = watching();
    const looks = mending('looks', (_subject, { agent, messages }) => {
      agents.push({ agent, messages: [...messages] });
      return allow();
    });
    await entering([looks, guard], { history: [question], agent: 'other' });
    expect(agents).toEqual([{ agent: 'other', messages: [question] }]);
    expect(told).toEqual([{ agent: 'other', messages: [question] }]);
  });

  it.each([
    ['touches the text alone', looked, (content: string) => content.replace('So.', 'Well.'), { text: 'Well.' }, looked.calls],
    ['takes the text away', looked, () => lines, { text: '' }, looked.calls],
    ['takes the text, and leaves the line break', looked, () => `\n${lines}`, { text: '' }, looked.calls],
    [
      'touches the lines of the calls',
      looked,
      (content: string) => content.replace('sky', 'sea'),
      { text: 'So.', dropsInputs: true },
      'dropped',
    ],
    ['leaves fewer lines than there were', looked, () => '', { text: '', dropsInputs: true }, 'dropped'],
    [
      'leaves one line of one',
      answer('h2', '', call('1.0', 'look', { at: 'sky' })),
      () => 'gone',
      { text: '', dropsInputs: true },
      'dropped',
    ],
    [
      'leaves one line of two',
      answer('h2', 'So.', call('1.0', 'look', { at: 'sky' }), call('1.1', 'look', { at: 'sea' })),
      () => 'gone',
      { text: 'gone', dropsInputs: true },
      'dropped',
    ],
    [
      'is of an answer without arguments',
      answer('h2', 'So.', call('1.0', 'rest', {})),
      () => 'Well.',
      { text: 'Well.' },
      [call('1.0', 'rest', {})],
    ],
  ])('that is an answer keeps the inputs of its calls unless a rewrite %s', async (...[, message, make, change, kept]) => {
    const { told, guard } = watching();
    const mends = mending('mends', ({ content }) => rewrite(make(content), 'mended'));
    const { outcome } = await entering([mends, guard], { history: [message], agent: 'other' });
    expect(outcome.changed).toEqual([{ id: 'h2', ...change }]);
    const after = told[0]?.messages[0] as AssistantMessage;
    expect(after.text).toBe(change.text);
    expect(after.calls).toEqual(kept === 'dropped' ? message.calls.map((each) => ({ ...each, input: {} })) : kept);
  });
});

describe('history of a session', () => {
  const session = () => ({ store: memorySession(), id: 's' });
  const mail = tool('mail', () => 'blue');
  const model = () => scripted([{ type: 'text.delta', text: 'So.' }, calls('mail', { at: 'sky' })], 'Done.');

  /** A first run under these guardrails, and a second under those: what the second judged. */
  async function second(first: readonly Guardrail<unknown>[], then: readonly Guardrail<unknown>[], level: 'agent' | 'run' = 'agent') {
    const reference = session();
    const given = (guardrails: readonly Guardrail<unknown>[]) => (level === 'agent' ? [{ guardrails }, {}] : [{}, { guardrails }]);
    const [before, options] = given(first);
    await run(agentOf({ model: model(), tools: [mail], ...before }), 'one', { runId: 'r1', session: reference, ...options });
    const [after, later] = given(then);
    const handle = await entered(agentOf({ model: model(), tools: [mail], ...after }), { runId: 'r2', session: reference, ...later });
    const { conversation } = handle.state;
    const outcome = await enter(handle, {
      subject: 'r2/input',
      agent: 'desk',
      fresh: handle.input ?? [],
      history: conversation.view,
      guards: standNow(handle).input,
      stays: conversation.activations.length - 1,
    });
    return { handle, outcome };
  }

  it.each(['agent', 'run'] as const)('is not put again to a guardrail of the %s that has passed it', async (level) => {
    const { guard, seen } = watching();
    const { outcome } = await second([guard], [guard], level);
    expect(outcome.judged).toEqual([]);
    expect(seen.at(-1)?.items.map(({ id }) => id)).toEqual(['r2/i1']);
  });

  it('is put whole to a guardrail that was not there, and to no other', async () => {
    const old = watching('old');
    const fresh = watching('fresh');
    const { outcome, handle } = await second([old.guard], [old.guard, fresh.guard]);
    const ids = ['r1/i1', 'r1/1', 'r1/1.0', 'r1/2'];
    expect(outcome.judged).toEqual(ids);
    expect(old.seen.at(-1)?.items.map(({ id }) => id)).toEqual(['r2/i1']);
    expect(fresh.seen.at(-1)?.items.map(({ id }) => id)).toEqual([...ids, 'r2/i1']);
    expect(verdicts(handle).slice(-2)).toEqual(['old check r2/input@0 allow', 'fresh check r2/input@0 allow']);
  });

  it('is put together to those who are to see the same of it', async () => {
    const old = watching('old');
    const [one, two] = [watching('one'), watching('two')];
    const { handle } = await second([old.guard], [one.guard, old.guard, two.guard]);
    expect(verdicts(handle).slice(-3)).toEqual(['one check r2/input@0 allow', 'two check r2/input@0 allow', 'old check r2/input@0 allow']);
  });

  it('is new to all checks where a rewrite that was not there changed it', async () => {
    const old = watching('old');
    const changes = mending('changes', ({ content }) => (content === 'Done.' ? rewrite('done', 'softer') : allow()));
    const { outcome } = await second([old.guard], [old.guard, changes]);
    expect(outcome.changed).toEqual([{ id: 'r1/2', text: 'done' }]);
    expect(old.seen.at(-1)?.items.map(({ id, text: said }) => `${id} ${said}`)).toEqual(['r1/2 done', 'r2/i1 hello']);
  });

  it('is not put again to a rewrite that has passed it', async () => {
    const fresh = watching('fresh');
    const looked: string[] = [];
    const looks = mending('looks', ({ content }) => {
      looked.push(content);
      return allow();
    });
    await second([looks], [looks, fresh.guard]);
    expect(looked).toEqual(['one', 'hello']);
  });

  it('is refused by the strictest of those who see it apart', async () => {
    const old = (verdict: unknown) => checking('old', ({ content }) => (content === 'hello' ? verdict : allow()));
    for (const [mild, strict, by] of [
      [deny('a'), halt('b'), 'fresh'],
      [halt('a'), deny('b'), 'old'],
      [deny('a'), deny('b'), 'old'],
      [halt('a'), halt('b'), 'old'],
      [allow(), deny('b'), 'fresh'],
      [deny('a'), allow(), 'old'],
    ] as const) {
      const guard = old(mild);
      const { outcome } = await second([guard], [guard, checking('fresh', () => strict)]);
      expect(outcome.refusal?.by).toBe(by);
    }
  });

  it('is waited for by those who see it apart, until the run is stopped', async () => {
    const verdict = gate<ReturnType<typeof allow>>();
    const guard = checking('old', ({ content }) => (content === 'hello' ? verdict.promise : allow()));
    const going = second([guard], [guard, checking('fresh', async () => deny('no'))]);
    for (let turns = 0; turns < 5; turns += 1) await settle();
    verdict.resolve(allow());
    expect((await going).outcome.refusal).toMatchObject({ by: 'fresh' });
  });

  it('that a filter wrote anew is new to everyone', async () => {
    const { guard, seen } = watching();
    const reference = session();
    await run(agentOf({ guardrails: [guard] }), 'one', { runId: 'r1', session: reference });
    const handle = await entered(agentOf({ guardrails: [guard] }), { runId: 'r2', session: reference });
    const { conversation } = handle.state;
    const entry = {
      subject: 'r2/input',
      history: conversation.view,
      stays: conversation.activations.length - 1,
      rewritten: new Set(['r1/i1']),
    };
    const outcome = await enter(handle, entryOf(handle, entry));
    expect(outcome.judged).toEqual(['r1/i1']);
    expect(seen.at(-1)?.items.map(({ id }) => id)).toEqual(['r1/i1']);
  });
});

it('puts to the guardrail of an agent that comes back what it has not seen: also the answer and result that handed over to it', async () => {
  const own = watching('own');
  const turns: { readonly [agent: string]: readonly string[] } = { desk: ['to_billing', 'to_billing'], billing: ['to_desk'] };
  const made = { desk: 0, billing: 0 };
  const model = {
    ...scripted(),
    async *stream({ agent }: { readonly agent: string }) {
      const name = turns[agent]?.[made[agent as 'desk']++];
      if (name === undefined) yield { type: 'text.delta' as const, text: 'Done.' };
      else yield calls(name);
      yield { type: 'end' as const, stopReason: 'stop' as const, usage: { requests: 1 } };
    },
  };
  const billing = agentOf({ name: 'billing', model, guardrails: [own.guard], handoffs: [handoff('desk', { name: 'to_desk' })] });
  const result = await run(agentOf({ model, handoffs: [handoff(billing, { name: 'to_billing' })] }), 'one', { runId: 'r1' });
  expect(result).toMatchObject({ status: 'completed', agent: 'billing' });
  expect(eventsOf(result.log, 'handoff').map(({ to, entry }) => [to, entry.judged])).toEqual([
    ['billing', ['r1/i1']],
    ['desk', []],
    ['billing', ['r1/1', 'r1/1.0']],
  ]);
});
