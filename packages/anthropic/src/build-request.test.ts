import type { Message, ModelRequest, ModelSettings } from '@guardloop/core/model';
import { describe, expect, it } from 'vitest';
import { checkMessagesRequest } from '../../testing/src/requests/anthropic.js';
import { assistant, callOf, lookup, request, textOf, toolResult, user } from '../test/fake-api.js';
import { contextFor } from '../test/request-context.js';
import type { RequestContext } from './build-request.js';
import { buildRequest } from './build-request.js';

interface Asked extends Omit<Partial<ModelRequest>, 'settings'> {
  readonly model?: string;
  readonly settings?: ModelSettings;
  readonly context?: Partial<RequestContext>;
}

const hello: readonly Message[] = [user('hi')];
const search = { type: 'web_search_20250305', name: 'web_search' };
const code = { type: 'code_execution_20260120', name: 'code_execution' };

function build(messages: readonly Message[], { model = 'claude-sonnet-4-6', settings = {}, context, ...more }: Asked = {}) {
  const built = buildRequest(request(messages, { ...more, settings }), { ...contextFor(model), ...context });
  const body = JSON.parse(JSON.stringify(built.body)) as Record<string, unknown> & {
    messages: { role: string; content: Record<string, unknown>[] }[];
  };
  const apiVersion = built.headers['anthropic-version'] ?? context?.headers?.['anthropic-version'] ?? '2026-10-21';
  expect(checkMessagesRequest(body, { apiVersion })).toEqual([]);
  return { body, headers: built.headers, warnings: built.warnings, words: built.warnings.map(({ message }) => message) };
}

describe('settings', () => {
  it.each([
    ['seed', { seed: 7 }, 'claude-sonnet-4-6', /seed/],
    [
      'metadata beyond user_id',
      { metadata: { user_id: 'u', team: 'x', desk: 'y' } },
      'claude-sonnet-4-6',
      /metadata\.team, metadata\.desk/,
    ],
    ['temperature for a model that takes none', { temperature: 0 }, 'claude-opus-4-8', /temperature/],
    ['topP for a model that takes none', { topP: 0.5 }, 'claude-haiku-5-5', /topP/],
    ['topP beside temperature', { temperature: 0, topP: 0.5 }, 'claude-haiku-4-5', /topP/],
    ['temperature beside thinking', { temperature: 0, reasoning: 'low' }, 'claude-haiku-4-5', /temperature.*thinking/],
    ['a temperature above 1', { temperature: 1.5 }, 'claude-haiku-4-5', /temperature is sent as 1/],
    ['a temperature that is no number', { temperature: Number.NaN }, 'claude-haiku-4-5', /temperature, which is no number/],
    [
      'extra fields that the adapter writes',
      { extra: { 'anthropic.messages': { messages: [], stream: false } } },
      'claude-opus-5',
      /messages, stream/,
    ],
  ] as const)('S198: %s is told, once in each request', (...[, settings, model, words]) => {
    for (let time = 0; time < 2; time += 1) {
      const { warnings } = build(hello, { settings, model });
      expect(warnings.map(({ type, about }) => [type, about])).toEqual([['warning', 'setting']]);
      expect(warnings[0]?.message).toMatch(words);
    }
  });

  it.each([
    ['a temperature of 1 for a model that takes none', { temperature: 1 }, 'claude-opus-5-5'],
    ['user_id', { metadata: { user_id: 'u' } }, 'claude-opus-5-5'],
    ['falsy values', { temperature: 0, stopSequences: [] }, 'claude-haiku-4-5'],
  ] as const)('%s needs no word', (_, settings, model) => {
    expect(build(hello, { settings, model }).warnings).toEqual([]);
  });

  it.each([
    ['an empty stop sequence', { stopSequences: ['END', ''] }, 'stopSequences'],
    ['a stop sequence of whitespace', { stopSequences: [' \n'] }, 'stopSequences'],
    ['no tokens at all', { maxTokens: 0 }, 'maxTokens'],
    ['half a token', { maxTokens: 10.5 }, 'maxTokens'],
    ['a limit that is no number', { maxTokens: Number.NaN }, 'maxTokens'],
  ])('%s is refused: left out, it would lift a bound', (_, settings, name) => {
    expect(() => build(hello, { settings })).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining(`settings.${name}`) as string }),
    );
  });

  it.each(['tools', 'tool_choice', 'mcp_servers', 'system'])(
    'the extra field %s is refused: it would go past the agent and its guardrails',
    (field) => {
      const extra = { 'anthropic.messages': { [field]: [] } };
      expect(() => build(hello, { settings: { extra } })).toThrow(
        expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining(`sets ${field}`) as string }),
      );
    },
  );

  it('metadata.user_id is sent, beside and over that of the extra fields', () => {
    const extra = { 'anthropic.messages': { metadata: { user_id: 'other' }, service_tier: 'auto' } };
    const { body, warnings } = build(hello, { settings: { metadata: { user_id: 'u\ud83d' }, extra } });
    expect([body.metadata, body.service_tier, warnings]).toEqual([{ user_id: 'u\uFFFD' }, 'auto', []]);
  });

  it('extra fields stand where the adapter writes none, and beside what it writes in output_config', () => {
    const extra = { 'anthropic.messages': { thinking: { type: 'disabled' }, output_config: { effort: 'max' } } };
    const output = { name: 'answer', schema: { type: 'object', properties: {}, additionalProperties: false } };
    const { body, warnings } = build(hello, { settings: { extra }, output });
    expect([body.thinking, warnings]).toEqual([{ type: 'disabled' }, []]);
    expect(body.output_config).toMatchObject({ effort: 'max', format: { type: 'json_schema' } });
  });

  it('headers of the request go along, in lower case, with all betas together', () => {
    const { headers } = build(hello, {
      settings: { headers: { 'X-Team': 'a', 'Anthropic-Beta': 'mine-2, mine-1' } },
      context: { headers: { 'anthropic-beta': 'mine-1' } },
    });
    expect(headers).toEqual({ 'x-team': 'a', 'anthropic-beta': 'mine-1,mine-2' });
    expect(build(hello, { context: { headers: { 'anthropic-beta': 'mine-1' } } }).headers).toEqual({});
  });

  it('the API version is that of sampling settings, unless the caller gives one', () => {
    const settings = { temperature: 0 };
    expect(build(hello, { settings }).headers).toEqual({ 'anthropic-version': '2023-06-01' });
    expect(build(hello, { settings, context: { headers: { 'anthropic-version': '2023-06-01' } } }).headers).toEqual({});
    expect(build(hello, { settings: { ...settings, headers: { 'Anthropic-Version': '2023-06-01' } } }).headers).toEqual({
      'anthropic-version': '2023-06-01',
    });
  });
});

describe('fields of a tool’s input', () => {
  const tools = [{ ...lookup, name: 'measure', schema: { type: 'object', properties: { größe: { type: 'string' } } } }] as const;

  it('of names that Claude’s API refuses are told before it would refuse every request', () => {
    const error = { code: 'CONFIG_INVALID', message: expect.stringMatching(/measure.*größe/) as string };
    for (let time = 0; time < 2; time += 1) expect(() => build(hello, { tools })).toThrow(expect.objectContaining(error));
  });

  it('are a matter of the server where the model is another', () => {
    const built = buildRequest(request(hello, { tools }), contextFor('glm-5'));
    expect(JSON.stringify(built.body.tools)).toContain('größe');
  });
});

describe('a tool choice that forces a call', () => {
  it.each(['claude-opus-5-5', 'claude-sonnet-5-5', 'claude-fable-5-1'])(
    'is sent as auto, and told, for a model that takes none: %s',
    (model) => {
      const asked = { model, tools: [lookup], settings: { parallelToolCalls: false } };
      for (const toolChoice of ['required', { tool: 'lookup' }] as const) {
        const { body, warnings } = build(hello, { ...asked, toolChoice });
        expect(body.tool_choice).toEqual({ type: 'auto', disable_parallel_tool_use: true });
        expect(warnings).toEqual([{ type: 'warning', about: 'setting', message: expect.stringContaining('toolChoice') as string }]);
      }
    },
  );

  it('leaves thinking on where the model decides itself how much it thinks', () => {
    const asked = { tools: [lookup], toolChoice: 'required', settings: { reasoning: 'low' } } as const;
    const { body, warnings } = build(hello, { ...asked, model: 'claude-opus-4-8' });
    expect([body.thinking, body.tool_choice, warnings]).toEqual([{ type: 'adaptive' }, { type: 'any' }, []]);
    expect(build(hello, { ...asked, model: 'claude-haiku-4-5' }).words).toEqual([expect.stringMatching(/reasoning.*a call is forced/)]);
  });
});

describe('items that hold what the API does not take', () => {
  const foreign = { ...assistant('hello'), native: { provider: 'openai.responses', message: [{ type: 'reasoning' }] } };
  const damaged = { ...assistant('hello'), native: { provider: 'anthropic.messages', message: 'x' } };
  const photo = user('see', { type: 'image', mediaType: 'image/tiff', data: 'AAAA' }, { type: 'image', url: 'http://example.org/a.png' });

  it.each([
    ['S122: a message of another maker', foreign, 'native', [/openai\.responses/]],
    ['a message that is not whole', damaged, 'native', [/not whole/]],
    ['parts', photo, 'part', [/image\/tiff/, /https/]],
  ] as const)('%s is told once, when it is first encoded', (...[, item, about, words]) => {
    const items: Message[] = [user('go'), item, user('so')];
    const { warnings } = build(items);
    expect(warnings.map((warning) => [warning.about, warning.item])).toEqual(words.map(() => [about, item.id]));
    for (const [index, word] of words.entries()) expect(warnings[index]?.message).toMatch(word);
    items.push(assistant('ok'), user('more'));
    expect(build(items).warnings).toEqual([]);
    expect(build([...items]).warnings).toEqual([]);
  });

  it('an image in a result that is an error is told, and a text file is shown as its text', () => {
    const items = [
      user('go'),
      assistant('', { id: '1.0', name: 'lookup', providerId: 'c1' }),
      toolResult(
        '1.0',
        [
          { type: 'image', mediaType: 'image/png', data: 'AAAA' },
          { type: 'file', mediaType: 'text/plain', data: btoa('why') },
        ],
        {
          isError: true,
        },
      ),
    ];
    const { body, warnings } = build(items, { tools: [lookup] });
    expect(body.messages[2]?.content[0]).toMatchObject({ is_error: true, content: [{ type: 'text' }, textOf('why')] });
    expect(warnings).toEqual([{ type: 'warning', about: 'part', item: items[2]?.id, message: expect.stringMatching(/error/) as string }]);
  });

  it('S191: names and ids that are mapped need no word', () => {
    const items = [user('go'), assistant('', { id: '1.0', name: 'a.b', providerId: 'Bash:0' }), toolResult('1.0', 'A')];
    expect(build(items, { tools: [{ ...lookup, name: 'a.b' }] }).warnings).toEqual([]);
  });

  it('data is put right where it can be', () => {
    const { body, warnings } = build([
      user(
        { type: 'image', mediaType: 'image/png', data: '/9j/4A-_' },
        { type: 'image', mediaType: 'image/png', data: 'AAAA\nAAA' },
        { type: 'file', mediaType: 'application/pdf', data: ' JVBERi0x ' },
      ),
    ]);
    expect(body.messages[0]?.content.map(({ source }) => source)).toEqual([
      { type: 'base64', media_type: 'image/jpeg', data: '/9j/4A+/' },
      { type: 'base64', media_type: 'image/png', data: 'AAAAAAA=' },
      { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0x' },
    ]);
    expect(warnings).toEqual([]);
  });

  it('an image that is too large is told, instead of closing the conversation for good', () => {
    const { words } = build([user({ type: 'image', mediaType: 'image/png', data: 'A'.repeat(10 * 1024 * 1024 + 4) })]);
    expect(words).toEqual([expect.stringContaining('10 MB')]);
  });
});

describe('marks for the cache', () => {
  const mark = { type: 'ephemeral' };
  const hour = { type: 'ephemeral', ttl: '1h' };
  const on = (providerTools: RequestContext['providerTools'], extra = {}) =>
    build(hello, { system: 'S', settings: { extra: { 'anthropic.messages': extra } }, context: { cache: 'auto', providerTools } }).body;
  const marked = (count: number, cache_control = mark) =>
    Array.from({ length: count }, (_, index) => ({ ...search, name: `web_search_${index}`, cache_control }));

  it.each([
    [2, [{ ...textOf('S'), cache_control: mark }], mark],
    [3, 'S', mark],
    [4, 'S', undefined],
  ])('of the caller go before those of the adapter: %i', (count, system, atEnd) => {
    const body = on(marked(count));
    expect([body.system, body.cache_control]).toEqual([system, atEnd]);
  });

  it('of the caller that are too many are refused', () => {
    expect(() => on(marked(5))).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining('5 places') }));
    expect(() => on(marked(4), { cache_control: mark })).toThrow('5 places');
  });

  it('an hour asked for by an extra field holds for both, and never stands after five minutes', () => {
    const both = on([], { cache_control: hour });
    expect([both.system, both.cache_control]).toEqual([[{ ...textOf('S'), cache_control: hour }], hour]);
    const after = on(marked(1, hour));
    expect(after.system).toEqual([{ ...textOf('S'), cache_control: mark }]);
  });
});

describe('tools that Anthropic runs', () => {
  const own = (calls: readonly { readonly id: string; readonly providerId: string }[], blocks: readonly object[], container?: object) => ({
    ...assistant('', ...calls.map((call) => ({ ...call, name: 'lookup' }))),
    native: { provider: 'anthropic.messages', message: (container === undefined ? blocks : { content: blocks, container }) as never },
  });
  const asks = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'q' } };
  const found = { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] };
  const deferred = own([{ id: '1.0', providerId: 't1' }], [asks, callOf('t1', 'lookup')]);
  const offered = { tools: [lookup], context: { providerTools: [search] } };
  const waiting: readonly Message[] = [user('go'), deferred, toolResult('1.0', 'A')];

  it('wait for our results, and are answered in the next answer: both are sent back as they came', () => {
    const then = own([], [found, textOf('so')]);
    expect(build(waiting, offered).body.messages[1]?.content).toEqual([asks, callOf('t1', 'lookup')]);
    const { body } = build([...waiting, then, user('more')], offered);
    expect([body.messages[1]?.content, body.messages[3]?.content]).toEqual([
      [asks, callOf('t1', 'lookup')],
      [found, textOf('so')],
    ]);
  });

  it.each([
    ['words of the user follow', [user('and?')], offered],
    ['a note follows', [], { ...offered, note: 'a note' }],
    ['the tool is offered no more', [], { tools: [lookup] }],
    ['the answer that held its result is not sent as it came', [assistant('so'), user('more')], offered],
  ] as const)('that can have no result any more are left out: %s', (_, items, asked) => {
    const { body } = build([...waiting, ...items], asked);
    expect(body.messages[1]?.content).toEqual([callOf('t1', 'lookup')]);
  });

  it('share no name with tools of the agent', () => {
    const tools = [{ ...lookup, name: 'web_search' }];
    expect(() => build(hello, { ...offered, tools })).toThrow(
      expect.objectContaining({ code: 'NAME_TAKEN', message: expect.stringContaining('web_search') }),
    );
  });

  it('results of theirs without a call are left out', () => {
    const rewritten = [user('go'), assistant('', { id: '1.0', name: 'lookup', providerId: 't1' }), toolResult('1.0', 'A')];
    const { body } = build([...rewritten, own([], [found, textOf('so')]), user('more')], offered);
    expect(body.messages[3]?.content).toEqual([textOf('so')]);
  });

  describe('code that calls our tools', () => {
    const runs = { type: 'server_tool_use', id: 'srvtoolu_9', name: 'code_execution', input: { code: 'x' } };
    const caller = { type: 'code_execution_20260120', tool_id: 'srvtoolu_9' };
    const container = { id: 'container_1', expires_at: '2099-01-01T00:00:00Z' };
    const byCode = { ...callOf('t1', 'lookup'), caller };
    const paused = (box?: object) => [user('go'), own([{ id: '1.0', providerId: 't1' }], [runs, byCode], box), toolResult('1.0', 'A')];
    const asked = { tools: [lookup], context: { providerTools: [code] } };

    it('gets their results alone, as text, and the container that it runs in', () => {
      const items = paused(container);
      items[2] = toolResult('1.0', [{ type: 'image', mediaType: 'image/png', data: 'AAAA' }], { note: 'cut' });
      const { body, warnings } = build(items, asked);
      expect([body.container, body.messages[1]?.content]).toEqual(['container_1', [runs, byCode]]);
      expect(body.messages[2]?.content).toEqual([
        {
          type: 'tool_result',
          tool_use_id: 't1',
          content: [{ type: 'text', text: expect.stringContaining('An image') as string }, textOf('cut')],
        },
      ]);
      expect(warnings.map(({ about, item }) => [about, item])).toEqual([['part', items[2]?.id]]);
    });

    it('may call more before it is done', () => {
      const more = own([{ id: '2.0', providerId: 't2' }], [{ ...byCode, id: 't2' }], container);
      const done = own([], [{ type: 'code_execution_tool_result', tool_use_id: 'srvtoolu_9', content: {} }, textOf('so')], container);
      const items: Message[] = [...paused(container), more, toolResult('2.0', 'B')];
      expect(build(items, asked).body.messages.flatMap(({ content }) => content)).toContainEqual(runs);
      items.push(done, user('thanks'));
      const { body } = build(items, asked);
      expect(body.messages.map(({ content }) => content.map(({ type }) => type))).toEqual([
        ['text'],
        ['server_tool_use', 'tool_use'],
        ['tool_result'],
        ['tool_use'],
        ['tool_result'],
        ['code_execution_tool_result', 'text'],
        ['text'],
      ]);
      expect(body.container).toBeUndefined();
    });

    it.each([
      ['its container is gone', paused({ ...container, expires_at: '2020-01-01T00:00:00Z' }), asked],
      ['its container is not known', paused(), asked],
      ['words follow', [...paused(container), user('and?')], asked],
      ['it is offered no more', paused(container), { tools: [lookup] }],
    ])('is given up, and its calls stand as the model’s, where %s', (_, items, how) => {
      expect(build(items, how).body.messages[1]?.content).toEqual([callOf('t1', 'lookup')]);
    });

    it('has its skills beside the container', () => {
      const extra = { 'anthropic.messages': { container: { skills: [{ type: 'anthropic', skill_id: 'pdf' }] } } };
      const { body, warnings } = build(paused(container), { ...asked, settings: { extra } });
      expect([body.container, warnings]).toEqual([{ id: 'container_1', skills: [{ type: 'anthropic', skill_id: 'pdf' }] }, []]);
    });
  });
});

describe('thinking that is off', () => {
  const thought = { type: 'thinking', thinking: 'a', signature: 'S' };
  const kept = { ...assistant('so'), native: { provider: 'anthropic.messages', message: [thought, textOf('so')] as never } };

  it('is left out of earlier answers for a model that would check it, and kept for others', () => {
    const items = [user('go'), kept, user('more')];
    const settings = { reasoning: 'off' } as const;
    expect(build(items, { model: 'claude-sonnet-5-5', settings }).body.messages[1]?.content).toEqual([textOf('so')]);
    expect(build(items, { model: 'claude-opus-5', settings }).body.messages[1]?.content).toEqual([thought, textOf('so')]);
    expect(build(items, { model: 'claude-sonnet-5-5' }).body.messages[1]?.content).toEqual([thought, textOf('so')]);
  });
});
