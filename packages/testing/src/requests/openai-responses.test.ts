import { describe, expect, test } from 'vitest';
import { checkResponsesRequest } from './openai-responses.js';

const user = { role: 'user', content: 'hi' };
const call = (id: unknown, more: object = {}) => ({ type: 'function_call', call_id: id, name: 'f', arguments: '{}', ...more });
const output = (id: unknown, more: object = {}) => ({ type: 'function_call_output', call_id: id, output: 'r', ...more });
const reasoning = (more: object = {}) => ({ type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'E1', ...more });
const answer = (more: object = {}) => ({
  type: 'message',
  id: 'msg_1',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', annotations: [], text: 'x' }],
  ...more,
});
const body = (fields: object = {}) => ({ model: 'gpt-5', store: false, input: [user], ...fields });
const withInput = (...input: readonly unknown[]) => body({ input });
const withPart = (part: unknown) => withInput({ role: 'user', content: [part] });
const closed = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'], additionalProperties: false };
const tool = (fields: object = {}) => ({
  type: 'function',
  name: 'f',
  parameters: { type: 'object', properties: {} },
  strict: false,
  ...fields,
});
const format = (fields: object) => body({ text: { format: { type: 'json_schema', name: 'a', schema: closed, ...fields } } });

describe('a legal request is passed', () => {
  test.each<[string, unknown]>([
    ['of one message', body()],
    ['of text', body({ input: 'hi' })],
    ['with instructions', body({ instructions: 'Be brief.' })],
    ['with a call and its output', withInput(user, call('c1'), output('c1'))],
    ['with outputs in another order than their calls', withInput(user, call('c1'), call('c2'), output('c2'), output('c1'), user)],
    ['with a message between a call and its output', withInput(user, call('c1'), answer(), output('c1'))],
    ['with reasoning and what it led to', withInput(user, reasoning(), call('c1', { id: 'fc_1', status: 'completed' }), output('c1'))],
    ['with reasoning in several items', withInput(user, reasoning(), reasoning({ id: 'rs_2' }), answer())],
    ['with reasoning without an id', withInput(user, reasoning({ id: undefined }), answer({ id: undefined, status: undefined }))],
    ['with a summary', withInput(user, reasoning({ summary: [{ type: 'summary_text', text: 'x' }] }), answer())],
    ['with a search by the provider', withInput(user, reasoning(), { type: 'web_search_call', id: 'ws_1', status: 'completed' }, answer())],
    ['with an answer in text', withInput(user, { role: 'assistant', content: 'x' }, user)],
    ['with phases', withInput(user, answer({ phase: 'commentary' }), answer({ id: 'msg_2', phase: 'final_answer' }))],
    ['with a developer', withInput({ role: 'developer', content: 'x' }, user)],
    [
      'with images and files, in a result too',
      withInput(
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'x' },
            { type: 'input_image', detail: 'auto', image_url: 'https://example.com/a.png' },
            { type: 'input_image', image_url: 'data:image/webp;base64,QUJD' },
            { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,QUJD' },
            { type: 'input_file', file_url: 'https://example.com/a.pdf' },
          ],
        },
        call('c1'),
        output('c1', { output: [{ type: 'input_text', text: 'r' }] }),
      ),
    ],
    [
      'with tools',
      body({
        tools: [tool(), tool({ name: 'g', strict: true, parameters: closed }), { type: 'web_search' }],
        tool_choice: { type: 'function', name: 'g' },
        parallel_tool_calls: false,
      }),
    ],
    ['with the choice of a tool of the provider', body({ tools: [{ type: 'web_search' }], tool_choice: { type: 'web_search' } })],
    ['with a strict answer', format({ strict: true })],
    ['with an open answer that is not strict', format({ strict: false, schema: { type: 'object' } })],
    [
      'with settings',
      body({
        stream: true,
        stream_options: { include_obfuscation: false },
        include: ['reasoning.encrypted_content'],
        reasoning: { effort: 'low', summary: 'auto' },
        text: { verbosity: 'low' },
        max_output_tokens: 16,
        temperature: 0,
        metadata: { desk: 'x' },
      }),
    ],
  ])('%s', (_name, request) => {
    expect(checkResponsesRequest(request)).toEqual([]);
  });
});

describe('a request that the API refuses is refused, with the id or the name', () => {
  test.each<[string, unknown, RegExp]>([
    ['no object', 'x', /^body/],
    ['no model', body({ model: '' }), /^model/],
    ['a field of another dialect', body({ messages: [user] }), /^messages: is no parameter/],
    ['a conversation that the provider keeps', body({ store: undefined }), /^store/],
    ['an earlier response', body({ previous_response_id: 'resp_1' }), /^previous_response_id/],
    ['a conversation', body({ conversation: 'conv_1' }), /^conversation/],
    ['a run in the background', body({ background: true }), /^background/],
    ['no input', body({ input: [] }), /^input/],
    ['a call without its output', withInput(user, call('c1')), /the call c1 has no output/],
    ['an output without its call', withInput(user, output('c1')), /answers the call c1, which no item before it makes/],
    ['an output before its call', withInput(user, output('c1'), call('c1')), /answers the call c1, which no item before it makes/],
    ['a second output', withInput(user, call('c1'), output('c1'), output('c1')), /answers the call c1 a second time/],
    ['two calls with one id', withInput(user, call('c1'), output('c1'), call('c1'), output('c1')), /the call id c1 is used by two calls/],
    ['an output of another kind', withInput(user, call('c1'), { ...output('c1'), type: 'custom_tool_call_output' }), /no custom_tool_call/],
    ['two items with one id', withInput(user, answer(), answer()), /msg_1 is the id of two items/],
    ['an id of a call that is too long', withInput(user, call('x'.repeat(65)), output('x'.repeat(65))), /call_id/],
    ['an empty id of a call', withInput(user, call(''), output('')), /call_id/],
    ['arguments that are no JSON', withInput(user, call('c1', { arguments: '{' }), output('c1')), /of call c1 must be the JSON text/],
    ['a name that is none', withInput(user, call('c1', { name: 'a.b' }), output('c1')), /"a\.b" is no legal name/],
    ['an id of another kind of item', withInput(user, call('c1', { id: 'call_1' }), output('c1')), /"call_1" must begin with fc/],
    ['an id of a message that is none', withInput(user, answer({ id: 'x' })), /must begin with msg/],
    [
      'reasoning that the provider has not stored',
      withInput(user, reasoning({ encrypted_content: null }), answer()),
      /rs_1 has no encrypted_content/,
    ],
    ['reasoning without its summary', withInput(user, reasoning({ summary: undefined }), answer()), /summary/],
    ['reasoning at the end', withInput(user, reasoning()), /rs_1 stands without the item that it led to/],
    ['reasoning before a user', withInput(user, reasoning(), user), /rs_1 stands without/],
    ['reasoning before an output', withInput(user, call('c1'), reasoning(), output('c1')), /rs_1 stands without/],
    ['an item that is stored elsewhere', withInput(user, { type: 'item_reference', id: 'msg_1' }), /msg_1 refers to an item/],
    ['an image that was made', withInput(user, { type: 'image_generation_call', id: 'ig_1', result: 'QUJD' }), /ig_1 is not taken/],
    ['an approval that waits', withInput(user, { type: 'mcp_approval_request', id: 'mcpr_1' }), /mcpr_1 waits/],
    ['a search without its id', withInput(user, { type: 'web_search_call', status: 'completed' }, answer()), /id: is missing/],
    ['an unknown item', withInput(user, { type: 'thought' }), /unknown type "thought"/],
    ['an unknown role', withInput({ role: 'tool', content: 'x' }), /unknown role "tool"/],
    ['text of the assistant from the user', withPart({ type: 'output_text', text: 'x' }), /"output_text" is not taken here/],
    [
      'text of the user from the assistant',
      withInput(user, answer({ content: [{ type: 'input_text', text: 'x' }] })),
      /"input_text" is not taken/,
    ],
    ['an empty text part', withPart({ type: 'input_text', text: '' }), /needs text/],
    ['an empty list of parts', withInput({ role: 'user', content: [] }), /empty list/],
    ['an answer that says nothing', withInput(user, { role: 'assistant', content: '' }), /is empty/],
    ['an image of another type', withPart({ type: 'input_image', image_url: 'data:image/tiff;base64,QUJD' }), /image_url/],
    ['a file without a name', withPart({ type: 'input_file', file_data: 'data:application/pdf;base64,QUJD' }), /filename/],
    ['a file in two ways', withPart({ type: 'input_file', file_url: 'https://example.com/a', file_data: 'x' }), /one of/],
    [
      'a field of another dialect in an item',
      withInput(user, call('c1', { tool_call_id: 'c1' }), output('c1')),
      /tool_call_id: is no parameter/,
    ],
    ['a lone surrogate', withInput({ role: 'user', content: '\ud83d' }), /lone surrogate/],
    ['a lone surrogate within arguments', withInput(user, call('c1', { arguments: '{"a":"\\ud83d"}' }), output('c1')), /lone surrogate/],
    [
      'a function of the Chat form',
      body({ tools: [{ type: 'function', function: { name: 'f' } }] }),
      /tools\[0\]\.function: is no parameter/,
    ],
    ['a function that does not say whether it is strict', body({ tools: [tool({ strict: undefined })] }), /strict/],
    ['a strict function whose schema is not', body({ tools: [tool({ strict: true })] }), /additionalProperties of the root/],
    ['a function with a combinator at the root', body({ tools: [tool({ parameters: { ...closed, anyOf: [] } })] }), /anyOf is not allowed/],
    ['two functions of one name', body({ tools: [tool(), tool()] }), /f is used twice/],
    ['a name of a function that is none', body({ tools: [tool({ name: 'a.b' })] }), /"a\.b"/],
    ['an unknown tool', body({ tools: [{ type: 'crystal_ball' }] }), /"crystal_ball" is unknown/],
    ['a tool that lacks a field', body({ tools: [{ type: 'file_search' }] }), /needs vector_store_ids/],
    ['a choice that is not offered', body({ tools: [tool()], tool_choice: { type: 'function', name: 'g' } }), /names g/],
    ['a choice of the Chat form', body({ tools: [tool()], tool_choice: { type: 'function', function: { name: 'f' } } }), /tool_choice/],
    ['a choice without tools', body({ tool_choice: 'auto' }), /only allowed with tools/],
    ['an empty list of tools', body({ tools: [] }), /^tools/],
    ['a strict answer whose schema is not', format({ strict: true, schema: { type: 'object', properties: {} } }), /additionalProperties/],
    ['a format of the Chat form', body({ text: { format: { type: 'json_schema', json_schema: {} } } }), /json_schema: is no parameter/],
    ['JSON without the word', body({ text: { format: { type: 'json_object' } } }), /the word JSON/],
    ['too low a limit', body({ max_output_tokens: 15 }), /max_output_tokens/],
    ['an unknown effort', body({ reasoning: { effort: 'huge' } }), /reasoning\.effort/],
    ['an unknown summary', body({ reasoning: { summary: 'long' } }), /reasoning\.summary/],
    ['something that cannot be included', body({ include: ['everything'] }), /"everything"/],
    ['too hot', body({ temperature: 3 }), /temperature/],
    ['too much metadata', body({ metadata: { key: 'x'.repeat(600) } }), /metadata\.key/],
  ])('%s', (_name, request, expected) => {
    const problems = checkResponsesRequest(request);
    expect(
      problems.some((problem) => expected.test(problem)),
      JSON.stringify(problems),
    ).toBe(true);
  });

  test('one line for each fault, and no more', () => {
    expect(checkResponsesRequest(withInput(user, call('c1'), output('c2')))).toEqual([
      'input[2]: answers the call c2, which no item before it makes',
      'input[1]: the call c1 has no output',
    ]);
  });
});
