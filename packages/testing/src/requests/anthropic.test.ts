import { describe, expect, it } from 'vitest';
import { checkMessagesRequest } from './anthropic.js';

const tool = { name: 'lookup', description: 'Looks up.', input_schema: { type: 'object' } };
const call = (id: string, name = 'lookup', input: unknown = { key: 'a' }) => ({ type: 'tool_use', id, name, input });
const result = (id: string, content: unknown = 'found') => ({ type: 'tool_result', tool_use_id: id, content });
const text = (words: string) => ({ type: 'text', text: words });
const thinking = { type: 'thinking', thinking: 'hm', signature: 'S1' };
const user = (...content: unknown[]) => ({ role: 'user', content });
const assistant = (...content: unknown[]) => ({ role: 'assistant', content });
const request = (messages: unknown, more: object = {}) => ({ model: 'claude-sonnet-4-6', max_tokens: 4_096, messages, ...more });
const mark = { type: 'ephemeral' };
const hi = { role: 'user', content: 'hi' };
const withTools = (messages: unknown, more: object = {}) => request(messages, { tools: [tool], ...more });
const hour = { type: 'ephemeral', ttl: '1h' };
const search = (id: string) => ({ type: 'server_tool_use', id, name: 'web_search', input: {} });
const found = (id: string) => ({ type: 'web_search_tool_result', tool_use_id: id, content: [] });
const withSearch = (messages: unknown, more: object = {}) =>
  request(messages, { tools: [tool, { type: 'web_search_20250305', name: 'web_search' }], ...more });
const code = { type: 'server_tool_use', id: 'x', name: 'code_execution', input: { code: '1' } };
const byCode = (id: string) => ({ ...call(id), caller: { type: 'code_execution_20260120', tool_id: 'x' } });
const coded = assistant(code, byCode('a'));
const withCode = (messages: unknown, more: object = {}) =>
  request(messages, { tools: [tool, { type: 'code_execution_20260120', name: 'code_execution' }], ...more });
const budget = { thinking: { type: 'enabled', budget_tokens: 2_048 } };

describe('a legal request', () => {
  it.each([
    ['one question', request([hi])],
    ['a system text and settings', request([hi], { system: 'Be brief.', temperature: 0, stop_sequences: ['END'], stream: true })],
    [
      'parallel calls with their results in one message',
      withTools([hi, assistant(call('a'), call('b')), user(result('a'), result('b'), text('and?'))]),
    ],
    ['thinking that goes with its calls', withTools([hi, assistant(thinking, call('a')), user(result('a'))], budget)],
    [
      'interleaved and redacted thinking',
      withTools(
        [hi, assistant(thinking, call('a'), { type: 'redacted_thinking', data: 'X' }, call('b')), user(result('a'), result('b'))],
        budget,
      ),
    ],
    ['an image in a result', withTools([hi, assistant(call('a')), user(result('a', [image('image/webp')]))])],
    ['an earlier turn without thinking', request([hi, assistant(text('hello')), user(text('more'))], budget)],
    ['a server tool in an answer', request([hi, assistant(search('s'), found('s'), text('so')), hi])],
    [
      'a server tool that waits for our results, and is answered in the next answer',
      withSearch([hi, assistant(search('s'), call('a')), user(result('a')), assistant(found('s'), text('so')), hi]),
    ],
    ['a server tool that waits for our results at the end', withSearch([hi, assistant(search('s'), call('a')), user(result('a'))])],
    ['a paused answer', withSearch([hi, assistant(search('s'))])],
    ['code that waits for the results of its calls', withCode([hi, coded, user(result('a'))], { container: 'container_1' })],
    ['a forced call with adaptive thinking', withTools([hi], { thinking: { type: 'adaptive' }, tool_choice: { type: 'any' } })],
    [
      'marks of an hour before those of five minutes',
      request([hi], { system: [{ ...text('s'), cache_control: hour }], cache_control: mark }),
    ],
    ['a temperature of 1 anywhere', request([hi], { model: 'claude-opus-5-5', temperature: 1 })],
    ['anything for a model that is not known', request([hi], { ...budget, model: 'my-proxy/best', output_config: { effort: 'max' } })],
    [
      'structured output',
      request([hi], {
        output_config: {
          effort: 'low',
          format: format({ type: 'object', properties: { a: { type: 'string' } }, additionalProperties: false }),
        },
      }),
    ],
    [
      'four cache marks',
      request([user({ ...text('a'), cache_control: mark })], {
        cache_control: mark,
        system: [{ ...text('s'), cache_control: mark }],
        tools: [{ ...tool, cache_control: mark }],
      }),
    ],
  ])('passes: %s', (_, body) => {
    expect(checkMessagesRequest(body)).toEqual([]);
  });
});

describe('an illegal request is refused', () => {
  it.each<readonly [string, unknown, string]>([
    ['no object', 'hello', 'not an object'],
    ['no max_tokens', { model: 'm', messages: [hi] }, 'max_tokens: missing'],
    ['no model', { max_tokens: 1, messages: [hi] }, 'model: missing'],
    ['a field that the API does not have', request([hi], { parallel_tool_calls: true }), 'parallel_tool_calls: the API has no such field'],
    ['no messages', request([]), 'messages: missing or empty'],
    ['an assistant message first', request([assistant(text('hello')), hi]), 'messages.0.role: the first message'],
    ['two user messages in a row', request([hi, hi]), 'messages.1.role: two messages of "user" in a row'],
    ['a system role inside messages', request([hi, { role: 'system', content: 'be brief' }]), 'messages.1.role: system text'],
    ['an unknown role', request([{ role: 'tool', content: 'x' }]), '"tool" is neither user nor assistant'],
    ['a field beside role and content', request([{ ...hi, id: 'm1' }]), 'messages.0.id'],
    ['a field that text does not have', request([user({ ...text('hi'), mine: 1 })]), 'messages.0.content.0.mine: is no field of text'],
    [
      'a field that a text in a result does not have',
      withTools([hi, assistant(call('a')), user(result('a', [{ ...text('x'), id: 'y' }]))]),
      'messages.2.content.0.content.0.id: is no field of text',
    ],
    ['an empty content list', request([hi, assistant(), hi]), 'messages.1.content: neither text nor a list of blocks, or an empty one'],
    ['empty text content', request([{ role: 'user', content: '' }]), 'messages.0.content: empty'],
    ['an empty text block', request([user(text(''))]), 'messages.0.content.0.text: empty'],
    ['a text block of whitespace', request([hi, assistant(text(' \n')), hi]), 'messages.1.content.0.text: only whitespace'],
    ['whitespace at the end of a final answer', request([hi, assistant(text('so '))]), 'the final assistant message ends in whitespace'],
    [
      'a call without a result',
      withTools([hi, assistant(call('toolu_a'), call('toolu_b')), user(result('toolu_a'))]),
      'no tool_result in the next message for "toolu_b"',
    ],
    ['a call at the end', withTools([hi, assistant(call('toolu_a'))]), 'for "toolu_a"'],
    ['results in messages of their own', withTools([hi, assistant(call('a'), call('b')), user(result('a')), user(result('b'))]), 'for "b"'],
    ['a result without a call', withTools([user(result('toolu_x'))]), 'tool_result for "toolu_x", which the message before does not call'],
    [
      'a result of an earlier turn',
      withTools([hi, assistant(call('a')), user(result('a')), assistant(text('ok')), user(result('a'))]),
      'messages.4: tool_result for "a"',
    ],
    ['two results of one call', withTools([hi, assistant(call('a')), user(result('a'), result('a'))]), 'more than one tool_result for "a"'],
    [
      'text before a result',
      withTools([hi, assistant(call('a')), user(text('note'), result('a'))]),
      'a "text" block stands before a tool_result',
    ],
    [
      'one id for two calls',
      withTools([hi, assistant(call('a')), user(result('a')), assistant(call('a')), user(result('a'))]),
      '"a" is the id of two calls',
    ],
    ['an id with a colon', withTools([hi, assistant(call('Bash:0')), user(result('Bash:0'))]), '"Bash:0" does not match'],
    ['an id of 65 characters', withTools([hi, assistant(call('x'.repeat(65))), user(result('x'.repeat(65)))]), 'does not match'],
    ['a call name with a dot', withTools([hi, assistant(call('a', 'files.read')), user(result('a'))]), '"files.read" does not match'],
    [
      'input that is text',
      withTools([hi, assistant(call('a', 'lookup', '{bad')), user(result('a'))]),
      'the input of call "a" is not an object',
    ],
    ['input that is a list', withTools([hi, assistant(call('a', 'lookup', [])), user(result('a'))]), 'is not an object'],
    ['calls without tools', request([hi, assistant(call('a')), user(result('a'))]), 'tools: missing'],
    [
      'an empty error result',
      withTools([hi, assistant(call('a')), user({ ...result('a', ''), is_error: true })]),
      'the result of "a" is an error and empty',
    ],
    ['a call in a user message', withTools([user(call('a'))]), '"tool_use" is not for user messages'],
    ['a result in an assistant message', withTools([hi, assistant(result('a')), hi]), 'messages.1'],
    ['an empty tool list', request([hi], { tools: [] }), 'tools: not a list, or an empty one'],
    ['two tools of one name', request([hi], { tools: [tool, tool] }), '"lookup" is the name of two tools'],
    ['a tool name with a space', request([hi], { tools: [{ ...tool, name: 'look up' }] }), '"look up" does not match'],
    ['a tool whose input is no object', request([hi], { tools: [{ ...tool, input_schema: { type: 'string' } }] }), 'tools.0.input_schema'],
    ['a choice without tools', request([hi], { tool_choice: { type: 'auto' } }), 'tool_choice: given without tools'],
    [
      'a choice of a tool that is not there',
      withTools([hi], { tool_choice: { type: 'tool', name: 'other' } }),
      '"other" is no tool of the request',
    ],
    ['an unknown choice', withTools([hi], { tool_choice: { type: 'required' } }), '"required" is unknown'],
    [
      'no parallel calls with choice none',
      withTools([hi], { tool_choice: { type: 'none', disable_parallel_tool_use: true } }),
      'disable_parallel_tool_use',
    ],
    [
      'a budget under 1024',
      request([hi], { thinking: { type: 'enabled', budget_tokens: 1_000 } }),
      'budget_tokens: missing, or not a whole number from 1024',
    ],
    ['a budget of max_tokens', request([hi], { thinking: { type: 'enabled', budget_tokens: 4_096 } }), 'not less than max_tokens'],
    ['a budget with adaptive thinking', request([hi], { thinking: { type: 'adaptive', budget_tokens: 2_048 } }), 'only with type enabled'],
    ['temperature with thinking', request([hi], { ...budget, temperature: 0 }), 'temperature: can only be 1 with thinking'],
    [
      'a forced call with thinking',
      withTools([hi], { ...budget, tool_choice: { type: 'any' } }),
      'a call cannot be forced (any) with a thinking budget',
    ],
    [
      'a current turn without its thinking',
      withTools([hi, assistant(call('a')), user(result('a'))], budget),
      'messages.1.content.0: thinking is on',
    ],
    [
      'a second answer of the turn without thinking',
      withTools([hi, assistant(thinking, call('a')), user(result('a')), assistant(call('b')), user(result('b'))], budget),
      'messages.3.content.0',
    ],
    [
      'thinking without a signature',
      withTools([hi, assistant({ type: 'thinking', thinking: 'hm' }, call('a')), user(result('a'))]),
      'messages.1.content.0.signature: missing',
    ],
    ['thinking at the end of an answer', request([hi, assistant(thinking), hi]), 'the last block of an assistant message is thinking'],
    ['thinking in a user message', request([user(thinking)]), '"thinking" is not for user messages'],
    ['an image of another type', request([user(image('image/svg+xml'))]), '"image/svg+xml" is none of'],
    ['an image with a data: prefix', request([user(image('image/png', 'data:image/png;base64,AAAA'))]), 'not base64'],
    ['an image in OpenAI form', request([user({ type: 'image_url', image_url: { url: 'x' } })]), '"image_url" is not for user messages'],
    [
      'a document that is no PDF',
      request([user({ type: 'document', source: { type: 'base64', media_type: 'text/csv', data: 'AAAA' } })]),
      '"text/csv" is not application/pdf',
    ],
    ['half a surrogate pair in a text', request([user(text('a\ud83d'))]), 'body.messages.0.content.0.text: holds half a surrogate pair'],
    [
      'half a surrogate pair in a key',
      withTools([hi, assistant(call('a', 'lookup', { 'k\udc00': 1 })), user(result('a'))]),
      'has a key with half a surrogate pair',
    ],
    ['an empty system text', request([hi], { system: '' }), 'system: empty'],
    ['five cache marks', request([user(...Array.from({ length: 5 }, () => ({ ...text('a'), cache_control: mark })))]), '5 marks'],
    [
      'an open object in structured output',
      request([hi], { output_config: { format: format({ type: 'object', properties: {} }) } }),
      'additionalProperties: must be false',
    ],
    [
      'a limit in structured output',
      request([hi], { output_config: { format: format({ type: 'integer', minimum: 1 }) } }),
      'minimum: not in structured output',
    ],
    [
      'an error result with an image',
      withTools([hi, assistant(call('a')), user({ ...result('a', [image('image/webp')]), is_error: true })]),
      'the result of "a" is an error and holds more than text',
    ],
    ['base64 without its padding', request([user(image('image/png', 'AAAAA'))]), 'not base64'],
    ['base64 with line breaks', request([user(image('image/png', 'AAAA\nAAAA'))]), 'not base64'],
    ['an image that is another type than it says', request([user(image('image/png', '/9j/4AAQ'))]), 'but the data is image/jpeg'],
    ['an image of more than ten megabytes', request([user(image('image/png', 'A'.repeat(10 * 1024 * 1024 + 4)))]), 'are allowed'],
    ['an image at an http address', request([user({ type: 'image', source: { type: 'url', url: 'http://example.org/a.png' } })]), 'https'],
    [
      'a server tool without a result',
      request([hi, assistant(search('s'), text('so')), hi]),
      'server tool call "s" ("web_search") has no result',
    ],
    [
      'a result of a server tool without its call',
      request([hi, assistant(found('s'), text('so')), hi]),
      'which no server tool call before it',
    ],
    [
      'a server tool left open by words after our results',
      withSearch([hi, assistant(search('s'), call('a')), user(result('a'), text('and?'))]),
      'messages.2: the turn ends, and server tool call "s"',
    ],
    [
      'a server tool that the next answer leaves open',
      withSearch([hi, assistant(search('s'), call('a')), user(result('a')), assistant(text('so')), hi]),
      'messages.3: the turn ends, and server tool call "s"',
    ],
    [
      'a waiting server tool that is not offered',
      withTools([hi, assistant(search('s'), call('a')), user(result('a'))]),
      'tools: "web_search" waits for its result ("s") and is not offered',
    ],
    [
      'one id for two server tools',
      request([hi, assistant(search('s'), found('s'), search('s'), found('s'), text('so')), hi]),
      '"s" is the id of two server tool calls',
    ],
    [
      'words beside results for code',
      withCode([hi, coded, user(result('a'), text('and?'))], { container: 'c' }),
      'more than their results',
    ],
    [
      'an image for code',
      withCode([hi, coded, user(result('a', [image('image/png')]))], { container: 'c' }),
      'the result of "a" goes to code and holds more than text',
    ],
    ['code that waits without its container', withCode([hi, coded, user(result('a'))]), 'container: missing'],
    [
      'a call by code that is not there',
      withCode([hi, assistant(byCode('a')), user(result('a'))], { container: 'c' }),
      'call "a" comes from "x", which is no server tool call before it',
    ],
    ['an answer begun for a model that takes none', request([hi, assistant(text('so'))]), 'does not go on from it'],
    ['metadata beyond user_id', request([hi], { metadata: { team: 'a' } }), 'metadata.team'],
    [
      'structured output beside citations',
      request([user({ type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'a' }, citations: { enabled: true } })], {
        output_config: { format: format({ type: 'object', properties: {}, additionalProperties: false }) },
      }),
      'output_config.format: not beside documents',
    ],
    [
      'a mark of an hour after one of five minutes',
      request([hi], { system: [{ ...text('s'), cache_control: mark }], cache_control: hour }),
      'stands after',
    ],
    ['a mark of two hours', request([hi], { cache_control: { type: 'ephemeral', ttl: '2h' } }), '"2h" is neither'],
    [
      'a union at the top of an input',
      request([hi], { tools: [{ ...tool, input_schema: { type: 'object', anyOf: [] } }] }),
      'anyOf: not at the top level',
    ],
    [
      'a key of an input with other letters',
      request([hi], { tools: [{ ...tool, input_schema: { type: 'object', properties: { größe: {} } } }] }),
      '"größe" does not match',
    ],
    ...(
      [
        ['claude-opus-5-5', { tools: [tool], tool_choice: { type: 'any' } }, 'tool_choice.type: "any"'],
        ['claude-sonnet-5-5', { tools: [tool], tool_choice: { type: 'tool', name: 'lookup' } }, 'tool_choice.type: "tool"'],
        ['claude-fable-5-1', { tools: [tool], tool_choice: { type: 'any' } }, 'tool_choice.type: "any"'],
        ['claude-opus-4-7', { temperature: 0 }, 'temperature'],
        ['claude-haiku-5-5', { top_p: 0.9 }, 'top_p'],
        ['claude-opus-4-7', budget, 'thinking.type: "enabled"'],
        ['claude-haiku-4-5', { thinking: { type: 'adaptive' } }, 'thinking.type: "adaptive"'],
        ['claude-sonnet-5-5', { thinking: { type: 'disabled' } }, 'thinking.type: "disabled"'],
        ['claude-opus-5-5', { thinking: { type: 'disabled' } }, 'thinking.type: "disabled"'],
        ['claude-haiku-5-5', { thinking: { type: 'between_tools' } }, 'thinking.type: "between_tools"'],
        ['claude-3-5-sonnet-20241022', budget, 'thinking.type: "enabled"'],
        ['claude-haiku-4-5', { output_config: { effort: 'low' } }, 'output_config.effort'],
        ['claude-opus-5', { thinking: { type: 'disabled' }, output_config: { effort: 'max' } }, 'cannot be asked for'],
      ] as const
    ).map(([model, more, problem]) => [`${problem} for ${model}`, request([hi], { model, ...more }), problem] as const),
    ['a stop sequence of whitespace', request([hi], { stop_sequences: ['\n'] }), 'stop_sequences'],
    ['both sampling settings', request([hi], { temperature: 0, top_p: 0.5 }), 'only one of them'],
    ['a temperature above 1', request([hi], { temperature: 1.5 }), 'temperature: not a number in its range'],
  ])('for %s', (_, body, problem) => {
    expect(checkMessagesRequest(body).join('\n')).toContain(problem);
  });

  it('for sampling settings in the API version that has none', () => {
    expect(checkMessagesRequest(request([hi], { temperature: 0 }), { apiVersion: '2023-06-01' })).toEqual([]);
    expect(checkMessagesRequest(request([hi], { temperature: 0 }), { apiVersion: '2026-10-21' })).toEqual([
      'temperature: API version 2026-10-21 has no such field',
    ]);
  });
});

it('never throws, whatever it is given', () => {
  for (const body of [
    undefined,
    null,
    1,
    [],
    {},
    { messages: [null] },
    { messages: [{ content: [null, { type: 1 }] }] },
    { tools: [1], thinking: 1, output_config: 1, system: 1 },
  ]) {
    expect(checkMessagesRequest(body).length).toBeGreaterThan(0);
  }
});

function image(mediaType: string, data = 'AAAA') {
  return { type: 'image', source: { type: 'base64', media_type: mediaType, data } };
}

function format(schema: object) {
  return { type: 'json_schema', schema };
}
