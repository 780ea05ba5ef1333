import type {
  AssistantMessage,
  JsonObject,
  JsonValue,
  Message,
  ModelRequest,
  ModelSettings,
  Part,
  ToolMessage,
  ToolSpec,
  UserMessage,
} from '@guardloop/core/model';
import { GuardloopError } from '@guardloop/core/model';
import { describe, expect, test } from 'vitest';
import { checkResponsesRequest } from '../../../testing/src/requests/openai-responses.js';
import type { Item } from '../../test/responses-events.js';
import { call, message, reasoning } from '../../test/responses-events.js';
import type { ResponsesOptions } from './options.js';
import { responsesDialect } from './options.js';
import { recorded } from './replay.js';
import type { PreparedRequest } from './request.js';
import { RequestMaker } from './request.js';

const user = { origin: 'user', integrity: 'trusted' } as const;
const agent = { origin: 'agent:a', integrity: 'untrusted' } as const;

function asks(id: string, ...parts: readonly (string | Part)[]): UserMessage {
  const given = parts.map((part): Part => (typeof part === 'string' ? { type: 'text', text: part } : part));
  return { role: 'user', id, via: 'user', parts: given, label: user };
}

interface Said {
  readonly text?: string;
  readonly calls?: readonly (readonly [string | undefined, JsonObject])[];
  readonly native?: readonly Item[];
  readonly provider?: string;
}

/** An assistant message whose calls are given as `[providerId, input]`; they are numbered `<id>.<index>`. */
function answers(id: string, { text = '', calls = [], native, provider = 'openai.responses' }: Said): AssistantMessage {
  return {
    role: 'assistant',
    id,
    agent: 'a',
    text,
    calls: calls.map(([providerId, input], index) => ({
      id: `${id}.${index}`,
      ...(providerId === undefined ? {} : { providerId }),
      name: 'find',
      input,
    })),
    ...(native === undefined ? {} : { native: { provider, message: native as unknown as JsonValue } }),
    label: agent,
  };
}

function result(callId: string, content: string | readonly Part[], note?: string): ToolMessage {
  const fields = { role: 'tool', id: `t${callId}`, callId, tool: 'find', content, isError: false, label: agent } as const;
  return note === undefined ? fields : { ...fields, note };
}

const find: ToolSpec = {
  name: 'find',
  description: 'Finds.',
  schema: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'], additionalProperties: false },
};
const open: ToolSpec = { name: 'open', description: '', schema: { type: 'object', properties: { id: { type: 'string' } } } };

type Body = { readonly input: readonly Item[] } & Record<string, unknown>;

function fullRequest(request: Partial<ModelRequest>): ModelRequest {
  return { agent: 'a', turn: 1, system: '', messages: [asks('u', 'hi')], tools: [], settings: {}, ...request };
}

function maker(options: ResponsesOptions = {}, model = 'gpt-5'): (request: Partial<ModelRequest>) => PreparedRequest {
  const requests = new RequestMaker(
    model,
    responsesDialect(model, options),
    new URL(options.baseURL ?? 'https://api.openai.com/v1').hostname,
  );
  return (given) => {
    const request = fullRequest(given);
    return requests.make(request, request.settings);
  };
}

/** The body of a request that must be legal. */
function make(request: Partial<ModelRequest>, options: ResponsesOptions = {}): Body {
  return legal(maker(options)(request));
}

function legal({ body }: PreparedRequest): Body {
  expect(checkResponsesRequest(body)).toEqual([]);
  return JSON.parse(JSON.stringify(body)) as Body;
}

function refusal(request: Partial<ModelRequest>, options: ResponsesOptions = {}): GuardloopError {
  try {
    maker(options)(request);
  } catch (error) {
    if (GuardloopError.is(error)) return error;
    throw error;
  }
  throw new Error('expected a refusal');
}

const ids = (input: readonly Item[]): readonly unknown[] => input.map(({ id }) => id).filter((id) => id !== undefined);
const typesOf = (input: readonly Item[]): readonly unknown[] => input.map(({ type }) => type);

describe('a request', () => {
  test('leaves nothing at the provider, and asks for reasoning that can be sent back', () => {
    expect(make({ system: 'Be brief.', note: 'Answer again.' })).toEqual({
      model: 'gpt-5',
      instructions: 'Be brief.',
      input: [
        { type: 'message', role: 'user', content: 'hi' },
        { type: 'message', role: 'user', content: 'Answer again.' },
      ],
      stream: true,
      store: false,
      include: ['reasoning.encrypted_content'],
    });
  });

  test.each(['gpt-4o', 'gpt-4.1-mini', 'gpt-4-turbo', 'gpt-3.5-turbo', 'gpt-5-chat-latest', 'openai/gpt-4o', 'ft:gpt-4o-mini:acme'])(
    'of %s, which refuses to be asked for reasoning, does not ask',
    (model) => {
      expect(legal(maker({}, model)({})).include).toBeUndefined();
    },
  );

  test.each(['gpt-5', 'gpt-5.1-codex', 'o3', 'o4-mini', 'gpt-oss-120b', 'gpt-40', 'my-deployment'])('of %s asks', (model) => {
    expect(legal(maker({}, model)({})).include).toEqual(['reasoning.encrypted_content']);
  });

  test('of a view that holds nothing says so: the API wants an item', () => {
    expect(make({ messages: [] }).input).toHaveLength(1);
    expect(make({ messages: [answers('1', {})] }).input).toHaveLength(1);
  });

  test('names what not every model takes, for the error should it be refused', () => {
    expect(maker()({}).demands).toEqual([expect.stringContaining("reasoningItems: 'none'")]);
    expect(maker({ reasoningItems: 'none' })({ settings: { temperature: 0, reasoning: 'low' } }).demands).toEqual([
      'a reasoning effort',
      'temperature or topP',
    ]);
  });
});

describe('tools', () => {
  test('S167: are strict where their schema can be said in the strict subset, and say so where they are not', () => {
    const record: ToolSpec = { name: 'record', description: '', schema: { type: 'object', properties: {}, additionalProperties: true } };
    const { tools } = make({ tools: [find, open, record, { ...find, name: 'loose', strict: false }] });
    expect(tools).toMatchObject([
      { type: 'function', name: 'find', description: 'Finds.', strict: true },
      { type: 'function', name: 'open', strict: true, parameters: { required: ['id'], properties: { id: { type: ['string', 'null'] } } } },
      { type: 'function', name: 'record', strict: false, parameters: record.schema },
      { type: 'function', name: 'loose', strict: false },
    ]);
    expect(make({ tools: [find] }, { strictSchemas: false }).tools).toMatchObject([{ strict: false }]);
    expect(refusal({ tools: [{ ...record, strict: true }] })).toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('the root (additionalProperties)') as string,
    });
    expect(maker({ strictSchemas: false })({ tools: [{ ...find, strict: true }] }).warnings).toMatchObject([{ about: 'schema' }]);
  });

  test('that the provider runs stand behind those of the agent', () => {
    const { tools } = make({ tools: [find] }, { providerTools: [{ type: 'web_search' }] });
    expect(tools).toMatchObject([{ type: 'function', name: 'find' }, { type: 'web_search' }]);
  });

  test('the choice of one is by the name under which it is offered, and must be offered', () => {
    expect(make({ tools: [{ ...find, name: 'find.order' }], toolChoice: { tool: 'find.order' } }).tool_choice).toEqual({
      type: 'function',
      name: expect.stringMatching(/^find_order_/) as string,
    });
    expect(refusal({ tools: [find], toolChoice: { tool: 'gone' } })).toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('gone') as string,
    });
  });
});

describe('settings', () => {
  const sent = (settings: ModelSettings, options: ResponsesOptions = {}): Body => make({ settings, tools: [find] }, options);

  test('go to the fields that the API has for them', () => {
    const settings: ModelSettings = {
      temperature: 0,
      topP: 0.5,
      maxTokens: 100,
      parallelToolCalls: false,
      reasoning: 'low',
      metadata: { desk: 'billing' },
    };
    expect(sent(settings)).toMatchObject({
      temperature: 0,
      top_p: 0.5,
      max_output_tokens: 100,
      parallel_tool_calls: false,
      reasoning: { effort: 'low' },
      metadata: { desk: 'billing' },
    });
  });

  test('reasoning is turned off as the option says, and summaries are asked for', () => {
    expect(sent({ reasoning: 'off' }).reasoning).toEqual({ effort: 'none' });
    expect(sent({ reasoning: 'off' }, { reasoningOff: 'minimal' }).reasoning).toEqual({ effort: 'minimal' });
    expect(sent({ reasoning: 'off' }, { reasoningOff: 'omit' }).reasoning).toBeUndefined();
    expect(sent({ reasoning: 'high' }, { reasoningSummary: 'auto' }).reasoning).toEqual({ effort: 'high', summary: 'auto' });
    expect(sent({}, { reasoningSummary: 'concise' }).reasoning).toEqual({ summary: 'concise' });
  });

  test.each<[string, ModelSettings, string]>([
    ['stop sequences', { stopSequences: ['END'] }, 'stopSequences'],
    ['a token budget for reasoning', { reasoning: { maxTokens: 1_000 } }, 'reasoning'],
    ['a limit that the API refuses', { maxTokens: 15 }, 'maxTokens'],
    ['a limit that is no number', { maxTokens: Number.NaN }, 'maxTokens'],
    ['a limit without end', { maxTokens: Number.POSITIVE_INFINITY }, 'maxTokens'],
    ['a limit as text', { maxTokens: '100' as never }, 'maxTokens'],
  ])('%s: refused before any request, since leaving it out would lift a bound', (_name, settings, named) => {
    expect(refusal({ settings })).toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining(named) as string });
  });

  test('a seed is warned about, each time', () => {
    const prepare = maker();
    for (const _turn of [1, 2])
      expect(prepare({ settings: { seed: 7 } }).warnings).toMatchObject([
        { about: 'setting', message: expect.stringContaining('seed') as string },
      ]);
    expect(prepare({}).warnings).toEqual([]);
  });

  test.each([
    'model',
    'input',
    'instructions',
    'stream',
    'store',
    'previous_response_id',
    'conversation',
    'background',
    'prompt',
    'context_management',
    'truncation',
    'tools',
    'tool_choice',
  ])('extra does not set %s: it is the adapter’s, or has the provider keep or add what no guardrail sees', (field) => {
    expect(refusal({ settings: { extra: { 'openai.responses': { [field]: 'x' } } } })).toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining(field) as string,
    });
  });

  test('extra adds to what is included and to the text, and goes through otherwise', () => {
    const extra = { 'openai.responses': { include: ['web_search_call.action.sources'], text: { verbosity: 'low' }, service_tier: 'flex' } };
    const output = { name: 'place', schema: find.schema };
    expect(make({ settings: { extra }, output })).toMatchObject({
      include: ['reasoning.encrypted_content', 'web_search_call.action.sources'],
      text: { verbosity: 'low', format: { type: 'json_schema', name: 'place', strict: true } },
      service_tier: 'flex',
    });
    const format = { 'openai.responses': { text: { format: { type: 'text' } } } };
    expect(refusal({ settings: { extra: format } })).toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('text.format') as string,
    });
  });

  test('an answer whose schema is outside the strict subset is asked for without strict, and one that no field takes by an instruction', () => {
    const record = { type: 'object', properties: {}, additionalProperties: { type: 'string' } };
    expect(make({ output: { name: 'place', schema: record } }).text).toEqual({
      format: { type: 'json_schema', name: 'place', schema: record, strict: false },
    });
    const list = make({ system: 'Be brief.', output: { name: 'place', schema: { type: 'array', items: { type: 'string' } } } });
    expect(list).not.toHaveProperty('text');
    expect(list.instructions).toMatch(/^Be brief\.\n\n.*JSON Schema/);
  });
});

describe('content', () => {
  const parts: readonly Part[] = [
    { type: 'image', mediaType: 'image/webp', data: 'UklGRiQA' },
    { type: 'image', url: 'https://example.com/cat.png' },
    { type: 'file', mediaType: 'application/pdf', data: 'JVBERi0x', name: 'bill.pdf' },
    { type: 'file', mediaType: 'text/csv', url: 'https://example.com/a.csv', name: 'a.csv' },
  ];
  const wire = [
    { type: 'input_image', detail: 'auto', image_url: 'data:image/webp;base64,UklGRiQA' },
    { type: 'input_image', detail: 'auto', image_url: 'https://example.com/cat.png' },
    { type: 'input_file', filename: 'bill.pdf', file_data: 'data:application/pdf;base64,JVBERi0x' },
    { type: 'input_file', file_url: 'https://example.com/a.csv' },
  ];

  test('images and files go as parts, of the user as of a result', () => {
    const messages = [
      asks('u', 'see', ...parts),
      answers('1', { calls: [['call_1', {}]] }),
      result('1.0', ['found', ...parts].map(asPart), 'noted'),
    ];
    const { input } = make({ messages });
    expect(input[0]?.content).toEqual([{ type: 'input_text', text: 'see' }, ...wire]);
    expect(input[2]?.output).toEqual([{ type: 'input_text', text: 'found' }, ...wire, { type: 'input_text', text: 'noted' }]);
  });

  test('what the API does not take becomes words that hold none of its data, and is warned about once', () => {
    const odd: readonly Part[] = [
      { type: 'file', mediaType: 'audio/mpeg', data: 'QUJDREVG' },
      { type: 'image', mediaType: 'image/tiff', data: 'QUJDREVG' },
      { type: 'image', mediaType: 'image/png', data: 'no base64!' },
      { type: 'file', mediaType: 'application/pdf', url: 'file:///etc/passwd' },
    ];
    const prepare = maker();
    const messages = [asks('u', 'see', ...odd)];
    const prepared = prepare({ messages });
    expect(JSON.stringify(legal(prepared))).not.toMatch(/QUJDREVG|no base64!|passwd/);
    expect(prepared.warnings).toHaveLength(4);
    expect(prepared.warnings.every(({ about, item }) => about === 'part' && item === 'u')).toBe(true);
    expect(prepare({ messages }).warnings).toEqual([]);
  });

  test('a lone surrogate goes nowhere', () => {
    const messages = [
      asks('u', 'a\ud83d', 'b'),
      answers('1', { text: '\ude00', calls: [['call_1', { '\ud83d': '\ud83d' }]] }),
      result('1.0', '\ud83d'),
    ];
    make({ messages, system: '\ud83d', note: '\ud83d' });
  });
});

function asPart(part: string | Part): Part {
  return typeof part === 'string' ? { type: 'text', text: part } : part;
}

describe('answers that go back', () => {
  const e1 = reasoning('rs_1', 'E1');
  const round = (native: readonly Item[] | undefined, more: Said = {}): readonly Message[] => [
    asks('u', 'do a and b'),
    answers('1', {
      calls: [
        ['call_1', { id: 'a' }],
        ['call_2', { id: 'b' }],
      ],
      ...(native === undefined ? {} : { native }),
      ...more,
    }),
    result('1.0', 'A'),
    result('1.1', 'B'),
  ];
  const two = [e1, call('fc_1', 'call_1', '{"id": "a"}'), call('fc_2', 'call_2', '{"id": "b"}')];

  test('S010: reasoning and the calls it led to go back byte-equal, in order, an empty summary with them', () => {
    const { input } = make({ messages: round(two) });
    expect(input).toEqual([
      { type: 'message', role: 'user', content: 'do a and b' },
      ...two,
      { type: 'function_call_output', call_id: 'call_1', output: 'A' },
      { type: 'function_call_output', call_id: 'call_2', output: 'B' },
    ]);
    for (const item of two) expect(JSON.stringify(input)).toContain(JSON.stringify(item));
    expect(input[1]).toMatchObject({ id: 'rs_1', summary: [], encrypted_content: 'E1' });
  });

  test('S011: reasoning without encrypted content does not go, and no id with it', () => {
    for (const bare of [reasoning('rs_1', null, ['thought']), { type: 'reasoning', id: 'rs_1', summary: [] }]) {
      const prepared = maker()({ messages: round([bare, message('msg_1', 'Looking.'), ...two.slice(1)], { text: 'Looking.' }) });
      const { input, include } = legal(prepared);
      expect(include).toEqual(['reasoning.encrypted_content']);
      expect(ids(input)).toEqual([]);
      expect(JSON.stringify(input)).not.toMatch(/rs_1|msg_1|fc_1|thought/);
      expect(typesOf(input)).toEqual([
        'message',
        'message',
        'function_call',
        'function_call',
        'function_call_output',
        'function_call_output',
      ]);
      expect(prepared.warnings).toMatchObject([{ about: 'native', item: '1' }]);
    }
  });

  test('S011: one item of reasoning that cannot go takes the others of its answer with it', () => {
    const { input } = make({ messages: round([e1, two[1] ?? e1, reasoning('rs_2', null), two[2] ?? e1]) });
    expect(typesOf(input)).not.toContain('reasoning');
    expect(ids(input)).toEqual([]);
  });

  test('S009: an answer that a view leaves out takes its reasoning with it', () => {
    const lost = answers('1', { calls: [['call_1', {}]], native: [e1, call('fc_1', 'call_1', '{}')] });
    const whole = [asks('u', 'begin'), lost, result('1.0', 'interrupted'), asks('u2', 'continue')];
    expect(typesOf(make({ messages: whole }).input)).toEqual(['message', 'reasoning', 'function_call', 'function_call_output', 'message']);
    const { input } = make({ messages: whole.filter(({ id }) => id !== '1' && id !== 't1.0') });
    expect(JSON.stringify(input)).not.toMatch(/rs_1|call_1/);
  });

  test('S009: an orphan call sends nothing: it is refused by name before any request', () => {
    const orphan = answers('1', { calls: [['call_1', {}]], native: [e1, call('fc_1', 'call_1', '{}')] });
    expect(refusal({ messages: [asks('u', 'begin'), orphan, asks('u2', 'continue')] })).toMatchObject({
      code: 'INTERNAL',
      message: expect.stringContaining('1.0') as string,
    });
  });

  test('S016: equal texts stay, and an answer that was recorded twice has ids of its own the second time', () => {
    const native = [e1, call('fc_1', 'call_1', '{}')];
    const said = (id: string): readonly Message[] => [answers(id, { calls: [['call_1', {}]], native }), result(`${id}.0`, 'done')];
    const { input } = make({ messages: [asks('u1', 'yes'), ...said('1'), asks('u2', 'yes'), ...said('2')] });
    expect(input.filter(({ role }) => role === 'user').map(({ content }) => content)).toEqual(['yes', 'yes']);
    expect(ids(input)).toEqual(['rs_1', 'fc_1']);
    const callIds = input.filter(({ type }) => type === 'function_call').map((item) => item.call_id);
    expect(callIds[0]).toBe('call_1');
    expect(new Set(callIds).size).toBe(2);
    expect(input.filter(({ type }) => type === 'function_call_output').map((item) => item.call_id)).toEqual(callIds);
  });

  test('S018: text beside a call goes back with it, the whole history each time, and no id of a response', () => {
    const native = [message('msg_1', 'Looking it up'), call('fc_1', 'call_1', '{"id":"X"}')];
    const messages = [
      asks('u', 'X?'),
      answers('1', { text: 'Looking it up', calls: [['call_1', { id: 'X' }]], native }),
      result('1.0', 'a city'),
    ];
    const second = make({ messages });
    expect(second.previous_response_id).toBeUndefined();
    expect(typesOf(second.input)).toEqual(['message', 'message', 'function_call', 'function_call_output']);
    const later = [...messages, answers('2', { text: 'X is a city', native: [message('msg_2', 'X is a city')] }), asks('u2', 'and Y?')];
    expect(make({ messages: later }).input.slice(0, 4)).toEqual(second.input);
  });

  test('an answer that was changed goes as neutral items, without ids and reasoning', () => {
    const { input } = make({ messages: round(undefined, { text: 'Looking.' }) });
    expect(input.slice(1, 4)).toEqual([
      { type: 'message', role: 'assistant', content: 'Looking.' },
      { type: 'function_call', call_id: 'call_1', name: 'find', arguments: '{"id":"a"}' },
      { type: 'function_call', call_id: 'call_2', name: 'find', arguments: '{"id":"b"}' },
    ]);
  });

  test.each<[string, readonly Item[]]>([
    ['another text', [message('msg_1', 'Something else.'), ...two.slice(1)]],
    ['another number of calls', [message('msg_1', 'Looking.'), call('fc_1', 'call_1', '{}')]],
    ['arguments that are no JSON', [message('msg_1', 'Looking.'), call('fc_1', 'call_1', '{'), call('fc_2', 'call_2', '{}')]],
    ['nothing', []],
  ])('a provider’s message that says %s than its answer is not sent', (_name, native) => {
    const prepared = maker()({ messages: round(native, { text: 'Looking.' }) });
    expect(legal(prepared).input[1]).toEqual({ type: 'message', role: 'assistant', content: 'Looking.' });
    expect(prepared.warnings).toMatchObject([{ about: 'native', item: '1' }]);
  });

  test('another maker’s message stays with its maker; a warning names the item once', () => {
    const prepare = maker();
    const messages = [
      asks('u', 'hi'),
      answers('1', { text: 'Hello.', native: [{ secret: 'FOREIGN' }], provider: 'openai.chat' }),
      asks('u2', 'go on'),
    ];
    const prepared = prepare({ messages });
    expect(JSON.stringify(legal(prepared))).not.toContain('FOREIGN');
    expect(prepared.warnings).toMatchObject([{ about: 'native', item: '1' }]);
    expect(prepare({ messages: [...messages] }).warnings).toEqual([]);
  });

  test('calls of the provider’s own tools go back whole with their reasoning; without it they are left out with it', () => {
    const search: Item = { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'rain' } };
    const said = (...first: readonly Item[]): readonly Message[] => [
      asks('u', 'rain?'),
      answers('1', { text: 'Rain.', native: [...first, search, message('msg_1', 'Rain.')] }),
      asks('u2', 'and tomorrow?'),
    ];
    expect(typesOf(make({ messages: said(e1) }).input)).toEqual(['message', 'reasoning', 'web_search_call', 'message', 'message']);
    expect(typesOf(make({ messages: said(reasoning('rs_1', null)) }).input)).toEqual(['message', 'message', 'message']);
    expect(typesOf(make({ messages: said() }).input)).toEqual(['message', 'web_search_call', 'message', 'message']);
  });

  test('an image that the provider made does not go back: the API refuses it without state', () => {
    const image: Item = { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: 'QUJD' };
    const said = (...native: readonly Item[]): readonly Message[] => [
      asks('u', 'draw'),
      answers('1', { text: 'Here.', native }),
      asks('u2', 'thanks'),
    ];
    const alone = maker()({ messages: said(image, message('msg_1', 'Here.')) });
    expect(ids(legal(alone).input)).toEqual(['msg_1']);
    expect(alone.warnings).toMatchObject([{ about: 'native', item: '1' }]);
    const { input } = make({ messages: said(e1, image, message('msg_1', 'Here.')) });
    expect(input[1]).toEqual({ type: 'message', role: 'assistant', content: message('', 'Here.').content });
  });

  test('what one server encrypted is not sent to another, whatever its port', () => {
    const [answer] = JSON.parse(JSON.stringify([recorded([...two], 'a.example.com')])) as [readonly Item[]];
    const at = (baseURL: string): PreparedRequest => maker({ baseURL })({ messages: round(answer) });
    expect(legal(at('https://a.example.com:8443/v1')).input.slice(1, 4)).toEqual(two);
    const moved = at('https://b.example.com/v1');
    expect(JSON.stringify(legal(moved))).not.toMatch(/E1|rs_1|a\.example\.com/);
    expect(moved.warnings).toMatchObject([{ about: 'native', message: expect.stringContaining('another server') as string }]);
    expect(make({ messages: round(two) }, { baseURL: 'https://b.example.com/v1' }).input[1]).toEqual(e1);
  });

  test('reasoning in plain text goes back where a server wants it so, and none where none is wanted', () => {
    const plain: Item = { type: 'reasoning', id: 'rs_1', summary: [], content: [{ type: 'reasoning_text', text: 'Hm.' }] };
    const messages = [asks('u', 'hi'), answers('1', { text: 'Hello.', native: [plain, message('msg_1', 'Hello.')] })];
    expect(maker({ reasoningItems: 'plain' })({ messages }).body.input).toMatchObject([{}, plain, { id: 'msg_1' }]);
    expect(maker({ reasoningItems: 'plain' })({}).body.include).toBeUndefined();
    const encrypted = [asks('u', 'hi'), answers('1', { text: 'Hello.', native: [e1, message('msg_1', 'Hello.')] })];
    expect(ids(make({ messages: encrypted }, { reasoningItems: 'none' }).input)).toEqual([]);
  });

  test('an id of a server that imitates the API goes to no other: a message and a call say all without it', () => {
    const native = [message('0b5f', 'Looking.'), call('chatcmpl-tool-1', 'call_1', '{}')];
    const said = answers('1', { text: 'Looking.', calls: [['call_1', {}]], native });
    const { input } = make({ messages: [asks('u', 'hi'), said, result('1.0', 'A')] });
    expect(ids(input)).toEqual([]);
    expect(input[1]).toEqual({ type: 'message', role: 'assistant', content: native[0]?.content });
  });

  test('ids that the API refuses are put right in the provider’s own calls, and nothing else in them', () => {
    const long = 'x'.repeat(70);
    const native = [call('fc_1', long, '{"id":  "a"}')];
    const { input } = make({ messages: [asks('u', 'hi'), answers('1', { calls: [[long, { id: 'a' }]], native }), result('1.0', 'A')] });
    expect(input[1]).toEqual({ ...native[0], call_id: expect.stringMatching(/^call_[a-z0-9]{14}$/) as string });
    expect(input[2]?.call_id).toBe(input[1]?.call_id);
  });
});
