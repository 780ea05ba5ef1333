import type { Message, ModelRequest, ModelSettings, Part, ToolSpec } from '@guardloop/core/model';
import { describe, expect, test } from 'vitest';
import { checkChatRequest } from '../../../testing/src/requests/openai-chat.js';
import { answers, asks, lookup, result, withNative } from '../../test/chat-items.js';
import type { ChatDialect, ChatServer } from './dialect.js';
import { dialectOf } from './dialect.js';
import { openai } from './model.js';
import type { PreparedRequest } from './request.js';
import { RequestMaker } from './request.js';

type Body = { readonly messages: Record<string, unknown>[] } & Record<string, unknown>;

const image: Part = { type: 'image', mediaType: 'image/webp', data: 'UklGRkJD' };

function maker(dialect: ChatDialect = {}, server = 'api.openai.com'): (request?: Partial<ModelRequest>) => PreparedRequest {
  const requests = new RequestMaker('m', dialectOf(dialect), server);
  return (request = {}) => {
    const full: ModelRequest = { agent: 'a', turn: 1, system: '', messages: [asks('u', 'hi')], tools: [], settings: {}, ...request };
    return requests.make(full, full.settings);
  };
}
const bodyOf = (request: Partial<ModelRequest>, dialect: ChatDialect = {}): Body => maker(dialect)(request).body as unknown as Body;
const withSettings = (settings: ModelSettings, dialect: ChatDialect = {}): Body => bodyOf({ settings }, dialect);
const warningsOf = (request: Partial<ModelRequest>, dialect: ChatDialect = {}): string[] =>
  maker(dialect)(request).warnings.map(({ about, message, item }) =>
    [about, item, message].filter((word) => word !== undefined).join(' | '),
  );
const turn = (id: string, ...contents: readonly (string | readonly Part[])[]): readonly Message[] => [
  answers(
    id,
    '',
    contents.map((_content, index) => [`call_${index}`, {}] as const),
  ),
  ...contents.map((content, index) => result(`${id}.${index}`, content)),
];

describe('a server by its name', () => {
  test('S198: is sent what it takes, and an option beside the name goes over it', () => {
    const settings: ModelSettings = { maxTokens: 5, seed: 7 };
    expect(withSettings(settings, { dialect: 'mistral' })).toMatchObject({ max_tokens: 5, random_seed: 7 });
    expect(withSettings(settings, { dialect: 'mistral' })).not.toHaveProperty('stream_options');
    expect(withSettings(settings, { dialect: 'mistral', streamUsage: true })).toHaveProperty('stream_options');
    expect(withSettings(settings, { dialect: 'openai' })).toEqual(withSettings(settings));
  });

  test.each<[ChatServer, ChatDialect]>([
    ['vllm', { maxTokensField: 'max_tokens', strictSchemas: false }],
    ['ollama', { maxTokensField: 'max_tokens', strictSchemas: false }],
    ['lmstudio', { toolChoice: 'words' }],
    ['deepseek', { structuredOutput: 'json_object', replayReasoning: true }],
    ['gemini', { replayReasoning: true, lacks: ['seed', 'metadata'] }],
    ['litellm', { calledTools: 'declare', metadata: 'always' }],
    ['openrouter', { replayReasoning: true }],
    ['mistral', { callIds: 'nine', roleOrder: 'alternating' }],
  ])('%s has its ways', (dialect, ways) => {
    expect(dialectOf({ dialect })).toMatchObject(ways);
  });

  test('S223: an option of undefined is one that was left out', () => {
    expect(dialectOf({ dialect: 'vllm', maxTokensField: undefined })).toMatchObject({ maxTokensField: 'max_tokens' });
    expect(dialectOf({ dialect: 'openrouter', replayReasoning: false })).toMatchObject({ replayReasoning: false });
  });

  test.each<[string, object]>([
    ['dialect', { dialect: 'gpt4all' }],
    ['callIds', { callIds: 9 }],
    ['thinkTags', { thinkTags: true }],
    ['each entry of media', { media: ['video'] }],
    ['lacks', { lacks: 'seed' }],
    ['each entry of lacks', { lacks: ['toolChoice'] }],
  ])('S198: an unknown word in %s is CONFIG_INVALID at once, and the known ones are named', (name, options) => {
    expect(() => openai('m', options)).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining(name) as string }),
    );
  });
});

describe('ids of calls', () => {
  test('S191: of nine letters and digits where a server wants them, the same in every later turn, results with their calls', () => {
    const given = ['D681PevKs', 'call_PTLP8xhu3uwZk4l3nlnrrJha', '', 'Bash:0', 'D681PevKs'];
    const messages: Message[] = [
      asks('u', 'go'),
      answers(
        '1',
        '',
        given.map((id) => [id, {}] as const),
      ),
      ...given.map((_id, index) => result(`1.${index}`, `r${index}`)),
    ];
    const make = maker({ callIds: 'nine' });
    const idsOf = (body: Body) => ((body.messages[1]?.tool_calls ?? []) as { id: string }[]).map(({ id }) => id);
    const first = make({ messages }).body as unknown as Body;
    expect(idsOf(first).every((id) => /^[a-zA-Z0-9]{9}$/.test(id))).toBe(true);
    expect(new Set(idsOf(first)).size).toBe(given.length);
    expect(idsOf(first)[0]).toBe('D681PevKs');
    expect(first.messages.slice(2).map((message) => message.tool_call_id)).toEqual(idsOf(first));
    messages.push(answers('2', 'done'), asks('v', 'more'));
    expect(idsOf(make({ messages }).body as unknown as Body)).toEqual(idsOf(first));
  });
});

describe('the order of roles', () => {
  const roles = (request: Partial<ModelRequest>, dialect: ChatDialect = {}): string[] =>
    bodyOf(request, { roleOrder: 'alternating', ...dialect }).messages.map(
      (message) => `${String(message.role)}: ${String(message.content)}`,
    );

  test('user messages in a row become one, with those of core and of a handoff', () => {
    expect(roles({ system: 'Be brief.', messages: [asks('u', 'one'), asks('v', 'two')], note: 'three' })).toEqual([
      'system: Be brief.',
      'user: one\n\ntwo\n\nthree',
    ]);
  });

  test('an answer stands between results and a user message, and the user has the first and the last word', () => {
    const messages = [answers('1', 'Hello.'), ...turn('2', 'r'), asks('u', 'and?'), answers('3', 'So.'), answers('4', 'It is.')];
    expect(roles({ messages })).toEqual([
      'user: (The conversation begins with an answer.)',
      'assistant: Hello.',
      'user: Continue.',
      'assistant: null',
      'tool: r',
      'assistant: (The results are in.)',
      'user: and?',
      'assistant: So.',
      'user: Continue.',
      'assistant: It is.',
      'user: Continue.',
    ]);
  });

  test('instructions of the user’s role open the first user message', () => {
    expect(roles({ system: 'Be brief.', messages: [asks('u', 'hi')] }, { systemRole: 'user' })).toEqual(['user: Be brief.\n\nhi']);
    expect(roles({ system: 'Be brief.', messages: [answers('1', 'Hello.')] }, { systemRole: 'user' })).toEqual([
      'user: Be brief.\n\n(The conversation begins with an answer.)',
      'assistant: Hello.',
      'user: Continue.',
    ]);
    expect(bodyOf({ system: 'Be brief.' }, { systemRole: 'user' }).messages).toEqual([
      { role: 'user', content: 'Be brief.' },
      { role: 'user', content: 'hi' },
    ]);
  });

  test('images that follow results are joined with what the user says next, after an answer', () => {
    const { messages } = bodyOf({ messages: [asks('u', 'go'), ...turn('1', [image]), asks('v', 'and?')] }, { roleOrder: 'alternating' });
    expect(messages.map((message) => message.role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'user']);
    expect(messages.at(-1)?.content).toEqual([
      { type: 'text', text: 'From the result of tool lookup (call call_0):' },
      { type: 'image_url', image_url: { url: 'data:image/webp;base64,UklGRkJD' } },
      { type: 'text', text: 'and?' },
    ]);
  });

  test('what was sent before is not changed by what comes later', () => {
    const make = maker({ roleOrder: 'alternating' });
    const messages: Message[] = [asks('u', 'one')];
    const first = make({ messages }).body;
    const sent = JSON.stringify(first);
    messages.push(asks('v', 'two'));
    expect(make({ messages, note: 'n' }).body.messages).toEqual([{ role: 'user', content: 'one\n\ntwo\n\nn' }]);
    expect(make({ messages }).body.messages).toEqual([{ role: 'user', content: 'one\n\ntwo' }]);
    expect(JSON.stringify(first)).toBe(sent);
  });
});

describe('content', () => {
  test.each([
    ['null', { content: null }],
    ['empty', { content: '' }],
    ['omit', {}],
  ] as const)('of an answer that has only calls is %s', (callContent, content) => {
    const native = {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'call_0', type: 'function', function: { name: 'lookup', arguments: '{}' } }],
    };
    const [answer, ...rest] = turn('1', 'r');
    for (const own of [answer, withNative(answer as never, native)])
      expect(bodyOf({ messages: [asks('u', 'go'), own as Message, ...rest] }, { callContent }).messages[1]).toEqual({
        ...content,
        role: 'assistant',
        tool_calls: native.tool_calls,
      });
  });

  test('is always text where a server takes nothing else, and what is missing is told and warned about', () => {
    const file: Part = { type: 'file', mediaType: 'application/pdf', data: 'JVBERi0x', name: 'bill.pdf' };
    const sound: Part = { type: 'file', mediaType: 'audio/wav', data: 'UklGRkJD' };
    const messages = [asks('u', 'see', image, file, sound), ...turn('1', [image])];
    const prepared = maker({ media: [] })({ messages });
    expect(prepared.body.messages.map(({ content }) => content)).toEqual([
      'see\n[image image/webp is not attached: this server takes no images]\n[file bill.pdf (application/pdf) is not attached: this server takes no files]\n[file audio/wav is not attached: this server takes no sound]',
      null,
      '[image image/webp is not attached: this server takes no images]',
    ]);
    expect(prepared.warnings.map(({ about, item }) => [about, item])).toEqual([
      ['part', 'u'],
      ['part', 'u'],
      ['part', 'u'],
      ['part', 't1.0'],
    ]);
  });

  test.each<[string, Part, string]>([
    [
      'an image of a type that the API does not take',
      { type: 'image', mediaType: 'image/tiff', data: 'SUkqAA==' },
      'PNG, JPEG, GIF and WebP',
    ],
    ['an image whose data is no base64', { type: 'image', mediaType: 'image/png', data: '<svg>' }, 'not base64'],
    ['an image without data', { type: 'image' }, 'no data was given'],
    ['an image by an address of this computer', { type: 'image', url: 'file:///etc/passwd' }, 'http'],
    ['a file that is no PDF', { type: 'file', mediaType: 'application/zip', data: 'UEsDBA==' }, 'PDF files only'],
    ['a file by address', { type: 'file', mediaType: 'application/pdf', url: 'https://example.com/a.pdf' }, 'as data only'],
    ['a file without data', { type: 'file', mediaType: 'application/pdf' }, 'no data was given'],
    ['a file of text', { type: 'file', mediaType: 'text/csv', data: 'YTtiCg==', name: 'a.csv' }, 'written into the message'],
  ])('S047: %s is put into words, with a warning that holds none of it', (_name, part, why) => {
    const prepared = maker()({ messages: [asks('u1', 'see', part)] });
    expect(checkChatRequest(prepared.body)).toEqual([]);
    expect(typeof prepared.body.messages[0]?.content).toBe('string');
    expect(prepared.warnings).toEqual([{ type: 'warning', about: 'part', item: 'u1', message: expect.stringContaining(why) as string }]);
    expect(prepared.warnings[0]?.message).not.toMatch(/example\.com|etc\/passwd|a\.csv/);
  });

  test('a file of text is there, word for word', () => {
    const part: Part = { type: 'file', mediaType: 'text/csv', data: Buffer.from('a;ü\n').toString('base64'), name: 'a.csv' };
    expect(bodyOf({ messages: [asks('u', 'sum it up', part)] }).messages[0]?.content).toBe('sum it up\n[file a.csv (text/csv)]\na;ü\n');
  });

  test('an image goes under the type that it is, from a data: address too', () => {
    const png = 'iVBORw0KGgoAAAANSUhEUg==';
    const parts: readonly Part[] = [
      { type: 'image', mediaType: 'image/jpeg', data: png },
      { type: 'image', url: `data:image/jpg;base64,${png}` },
      { type: 'file', mediaType: 'image/png', data: png.replace(/=+$/, '') },
    ];
    expect(bodyOf({ messages: [asks('u', ...parts)] }).messages[0]?.content).toEqual(
      parts.map(() => ({ type: 'image_url', image_url: { url: `data:image/png;base64,${png}` } })),
    );
  });
});

describe('the choice among tools', () => {
  const other: ToolSpec = { ...lookup, name: 'other' };
  const tools = [lookup, other];
  const offered = (body: Body): unknown[] => ((body.tools ?? []) as { function: { name: string } }[]).map((tool) => tool.function.name);

  test('of one tool is that tool alone and required, where a server takes words only', () => {
    const body = bodyOf({ tools, toolChoice: { tool: 'other' } }, { toolChoice: 'words' });
    expect([offered(body), body.tool_choice]).toEqual([['other'], 'required']);
    expect(bodyOf({ tools, toolChoice: 'required' }, { toolChoice: 'words' })).toMatchObject({ tool_choice: 'required' });
    expect(offered(bodyOf({ tools, toolChoice: 'none' }, { toolChoice: 'words' }))).toHaveLength(2);
  });

  test('is made by what is offered, and warned about, where a server takes none', () => {
    const dialect: ChatDialect = { toolChoice: 'auto' };
    for (const toolChoice of ['required', { tool: 'other' }] as const) {
      const prepared = maker(dialect)({ tools, toolChoice });
      expect(prepared.body).not.toHaveProperty('tool_choice');
      expect(offered(prepared.body as unknown as Body)).toEqual(toolChoice === 'required' ? ['lookup', 'other'] : ['other']);
      expect(prepared.warnings).toMatchObject([{ about: 'setting', message: expect.stringContaining('toolChoice') as string }]);
    }
    expect(bodyOf({ tools, toolChoice: 'none' }, dialect)).not.toHaveProperty('tools');
    expect(warningsOf({ tools, toolChoice: 'auto' }, dialect)).toEqual([]);
  });

  test('of a tool that is not offered is refused whatever the server takes', () => {
    for (const toolChoice of ['any', 'words', 'auto'] as const)
      expect(() => bodyOf({ tools, toolChoice: { tool: 'gone' } }, { toolChoice })).toThrow('gone');
  });

  test('is among 128 tools at most, as OpenAI takes no more; other servers say themselves', () => {
    const many = Array.from({ length: 129 }, (_each, index): ToolSpec => ({ ...lookup, name: `tool_${index}` }));
    for (const server of ['api.openai.com', 'desk.openai.azure.com'])
      expect(() => maker({}, server)({ tools: many })).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
    expect(offered(maker({}, '127.0.0.1:8000')({ tools: many }).body as unknown as Body)).toHaveLength(129);
    expect(offered(maker()({ tools: many.slice(1) }).body as unknown as Body)).toHaveLength(128);
  });

  test('is none among the tools of earlier calls, where a server refuses calls without tools', () => {
    const messages = [asks('u', 'go'), ...turn('1', 'r')];
    const body = bodyOf({ messages, settings: { parallelToolCalls: true } }, { calledTools: 'declare' });
    expect([offered(body), body.tool_choice]).toEqual([['lookup'], 'none']);
    expect(checkChatRequest(bodyOf({ messages }, { calledTools: 'declare' }))).toEqual([]);
    expect(bodyOf({ messages: [asks('u', 'go')] }, { calledTools: 'declare' })).not.toHaveProperty('tools');
    expect(offered(bodyOf({ messages, tools: [other] }, { calledTools: 'declare' }))).toEqual(['other']);
  });
});

describe('settings', () => {
  test('a seed has its field', () => {
    expect(withSettings({ seed: 0 })).toMatchObject({ seed: 0 });
    expect(withSettings({ seed: 0 }, { seedField: 'random_seed' })).toMatchObject({ random_seed: 0 });
  });

  test('metadata goes where it is stored or taken, else it is left out with a warning', () => {
    const settings: ModelSettings = { metadata: { team: 'billing' } };
    expect(warningsOf({ settings })).toEqual([expect.stringContaining('metadata was left out') as string]);
    expect(withSettings(settings)).not.toHaveProperty('metadata');
    const stored = withSettings({ ...settings, extra: { 'openai.chat': { store: true } } });
    expect(stored).toMatchObject({ store: true, metadata: { team: 'billing' } });
    expect(checkChatRequest(stored)).toEqual([]);
    expect(withSettings(settings, { metadata: 'always' })).toMatchObject({ metadata: { team: 'billing' } });
    expect(warningsOf({ settings: { metadata: {} } })).toEqual([]);
  });

  test.each<[string, ModelSettings, string]>([
    ['five stop sequences', { stopSequences: ['a', 'b', 'c', 'd', 'e'] }, 'at most 4'],
    ['an empty stop sequence', { stopSequences: [''] }, 'empty'],
    ['a temperature above 2', { temperature: 2.1 }, 'temperature'],
    ['a topP above 1', { topP: 1.1 }, 'topP'],
    ['a limit of 0 tokens', { maxTokens: 0 }, 'maxTokens'],
    ['a seed that is a fraction', { seed: 0.5 }, 'seed'],
    ['a budget of reasoning', { reasoning: { maxTokens: 100 } }, 'budget'],
    [
      '17 keys of metadata',
      { metadata: Object.fromEntries(Array.from({ length: 17 }, (_each, index) => [`k${index}`, 'v'])) },
      'at most 16',
    ],
    ['a long key of metadata', { metadata: { ['k'.repeat(65)]: 'v' } }, '64'],
    ['a long value of metadata', { metadata: { k: 'v'.repeat(513) } }, '512'],
    ['a header with a line break', { headers: { 'x-a': 'b\nc: d' } }, 'headers'],
    ['a header with a space in its name', { headers: { 'x a': 'b' } }, 'headers'],
  ])('%s is refused before any request', (_name, settings, word) => {
    expect(() => withSettings(settings, { metadata: 'always' })).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining(word) as string }),
    );
  });

  test('S198: what a server lacks is left out with a warning, and refused where it is a bound', () => {
    const all: ModelSettings = { temperature: 1, topP: 1, seed: 1, metadata: { a: 'b' }, parallelToolCalls: false, reasoning: 'low' };
    const lacks = ['temperature', 'topP', 'seed', 'metadata', 'parallelToolCalls', 'reasoning'] as const;
    const prepared = maker({ lacks })({ settings: all, tools: [lookup] });
    for (const field of ['temperature', 'top_p', 'seed', 'metadata', 'parallel_tool_calls', 'reasoning_effort'])
      expect(prepared.body).not.toHaveProperty(field);
    expect(prepared.warnings.map(({ about, message }) => [about, message.split(' ')[0]])).toEqual(lacks.map((name) => ['setting', name]));
    expect(maker({ lacks })({ settings: all }).warnings).toHaveLength(lacks.length);
    expect(maker({ lacks })({}).warnings).toEqual([]);
    for (const [name, settings] of [
      ['maxTokens', { maxTokens: 5 }],
      ['stopSequences', { stopSequences: ['a'] }],
    ] as const)
      expect(() => withSettings(settings, { lacks: [name] })).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
  });

  test('not to reason is said as a server takes it, or warned about', () => {
    expect(withSettings({ reasoning: 'off' }, { reasoningOff: 'minimal' })).toMatchObject({ reasoning_effort: 'minimal' });
    expect(warningsOf({ settings: { reasoning: 'off' } }, { reasoningOff: 'omit' })).toEqual([
      expect.stringContaining('reasoning') as string,
    ]);
  });
});

describe('warnings', () => {
  test('about tools come once: a name that was changed, and alternatives that were joined', () => {
    const tools: ToolSpec[] = [
      { ...lookup, name: 'orders.find' },
      { name: 'either', description: '', schema: { type: 'object', anyOf: [{ properties: { a: {} } }, { properties: { b: {} } }] } },
    ];
    const make = maker();
    const prepared = make({ tools });
    expect(prepared.warnings.map(({ about, message }) => [about, /orders\.find|either/.exec(message)?.[0]])).toEqual([
      ['name', 'orders.find'],
      ['schema', 'either'],
    ]);
    expect(checkChatRequest(prepared.body)).toEqual([]);
    expect(make({ tools: [...tools] }).warnings).toEqual([]);
  });

  test('S122: another maker’s message is left out with a warning, once, and its text and calls go', () => {
    const foreign = { ...answers('1', 'I look.', [['toolu_1', { key: 'a' }]]), native: { provider: 'anthropic.messages', message: [] } };
    const messages: Message[] = [asks('u', 'go'), foreign, result('1.0', 'r')];
    const make = maker();
    const prepared = make({ messages });
    expect(prepared.warnings).toEqual([
      { type: 'warning', about: 'native', item: '1', message: expect.stringContaining('anthropic.messages') as string },
    ]);
    expect(checkChatRequest(prepared.body)).toEqual([]);
    messages.push(answers('2', 'done'));
    expect(make({ messages }).warnings).toEqual([]);
  });

  test('S122: reasoning goes back to the server that made it, and to no other', () => {
    const native = (server?: string) => ({
      role: 'assistant',
      content: 'Hm.',
      reasoning_content: 'think',
      ...(server === undefined ? {} : { guardloop_server: server }),
    });
    const replay = (own: ReturnType<typeof native>, dialect: ChatDialect): PreparedRequest =>
      maker(dialect, 'api.deepseek.com')({ messages: [asks('u', 'go'), withNative(answers('1', 'Hm.'), own), asks('v', 'and?')] });
    const ours = replay(native('api.deepseek.com'), { replayReasoning: true });
    expect(ours.body.messages[1]).toEqual({ role: 'assistant', content: 'Hm.', reasoning_content: 'think' });
    expect(ours.warnings).toEqual([]);
    for (const other of [replay(native('openrouter.ai'), { replayReasoning: true }), replay(native('api.deepseek.com'), {})]) {
      expect(other.body.messages[1]).toEqual({ role: 'assistant', content: 'Hm.' });
      expect(other.warnings).toMatchObject([{ about: 'native', item: '1' }]);
    }
    expect(replay(native(), { replayReasoning: true }).body.messages[1]).toHaveProperty('reasoning_content');
  });

  test('a message of ours that is not whole is told', () => {
    expect(warningsOf({ messages: [asks('u', 'go'), withNative(answers('1', 'x'), { role: 'assistant' })] })).toEqual([
      expect.stringContaining('not whole') as string,
    ]);
  });

  test('are lost by no request that failed to be made', () => {
    const make = maker();
    const messages: Message[] = [asks('u', 'see', { type: 'image' }), answers('1', '', [['c', {}]])];
    expect(() => make({ messages })).toThrow();
    messages.push(result('1.0', 'r'));
    expect(make({ messages }).warnings).toMatchObject([{ about: 'part', item: 'u' }]);
  });
});
