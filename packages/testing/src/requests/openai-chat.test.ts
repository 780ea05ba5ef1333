import { describe, expect, test } from 'vitest';
import { checkChatRequest } from './openai-chat.js';

const user = { role: 'user', content: 'hi' };
const call = (id: unknown, input: unknown = '{}', name: unknown = 'f') => ({ id, type: 'function', function: { name, arguments: input } });
const turn = (...calls: readonly unknown[]) => ({ role: 'assistant', content: null, tool_calls: calls });
const result = (id: unknown, content: unknown = 'r') => ({ role: 'tool', tool_call_id: id, content });
const tool = (fields: object = {}) => ({
  type: 'function',
  function: { name: 'f', parameters: { type: 'object', properties: {} }, ...fields },
});
const body = (fields: object = {}) => ({ model: 'gpt-5', messages: [user], ...fields });
const withMessages = (...messages: readonly unknown[]) => body({ messages });
const withPart = (part: unknown) => withMessages({ role: 'user', content: [part] });
const format = (fields: object) =>
  body({ response_format: { type: 'json_schema', json_schema: { name: 'a', schema: { type: 'object' }, ...fields } } });
const closed = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'], additionalProperties: false };

describe('a legal request is passed', () => {
  test.each<[string, unknown]>([
    ['of one message', body()],
    [
      'with instructions',
      withMessages({ role: 'system', content: 'x' }, { role: 'developer', content: [{ type: 'text', text: 'x' }] }, user),
    ],
    ['with a call and its result', withMessages(user, turn(call('c1')), result('c1'))],
    ['with text beside a call', withMessages(user, { ...turn(call('c1')), content: 'I look.' }, result('c1', ''))],
    ['with results in another order than their calls', withMessages(user, turn(call('c1'), call('c2')), result('c2'), result('c1'), user)],
    ['with an id that comes back in a later turn', withMessages(user, turn(call('c1')), result('c1'), turn(call('c1')), result('c1'))],
    [
      'with images, sound and files',
      withMessages({
        role: 'user',
        content: [
          { type: 'image_url', image_url: { url: 'https://example.com/a.png', detail: 'low' } },
          { type: 'image_url', image_url: { url: 'data:image/webp;base64,QUJD' } },
          { type: 'input_audio', input_audio: { data: 'QUJD', format: 'wav' } },
          { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,QUJD' } },
          { type: 'file', file: { file_id: 'file_1' } },
        ],
      }),
    ],
    [
      'with tools',
      body({
        tools: [tool(), tool({ name: 'g', strict: true, parameters: closed })],
        tool_choice: { type: 'function', function: { name: 'g' } },
        parallel_tool_calls: false,
      }),
    ],
    ['with a strict answer', format({ strict: true, schema: closed })],
    ['with an open answer that is not strict', format({ strict: false })],
    [
      'in JSON mode that says so',
      body({ messages: [{ role: 'user', content: 'Answer as JSON.' }], response_format: { type: 'json_object' } }),
    ],
    [
      'with settings',
      body({
        temperature: 0,
        top_p: 1,
        stop: ['END'],
        max_completion_tokens: 1,
        reasoning_effort: 'low',
        stream: true,
        stream_options: { include_usage: true },
      }),
    ],
    ['with a well-formed pair', withMessages({ role: 'user', content: '😀' })],
  ])('%s', (_name, request) => {
    expect(checkChatRequest(request)).toEqual([]);
  });
});

describe('an illegal request is refused, and the fault is named', () => {
  test.each<[string, unknown, string]>([
    ['no object', [], 'body'],
    ['no model', { messages: [user] }, 'model'],
    ['an unknown parameter', body({ top_k: 1 }), 'top_k'],
    ['no message', withMessages(), 'messages'],
    ['an unknown role', withMessages({ role: 'function', content: 'x' }), '"function"'],
    ['a role of the object’s own prototype', withMessages({ role: 'constructor', content: 'x' }), '"constructor"'],
    ['a field of another dialect', withMessages({ role: 'assistant', content: 'x', reasoning_content: 'y' }), 'reasoning_content'],
    ['an unanswered call at the end', withMessages(user, turn(call('c1'), call('c2')), result('c1')), 'c2'],
    [
      'an unanswered call before a user message',
      withMessages(user, turn(call('c1')), user, result('c1')),
      'c1 has no result before messages[2]',
    ],
    [
      'a result that does not stand directly after',
      withMessages(user, turn(call('c1')), user, result('c1')),
      'messages[3]: answers the call c1',
    ],
    ['an orphan result', withMessages(user, result('c9')), 'c9'],
    [
      'a result of an earlier turn',
      withMessages(user, turn(call('c1')), result('c1'), turn(call('c2')), result('c1'), result('c2')),
      'messages[4]: answers the call c1',
    ],
    ['a second result', withMessages(user, turn(call('c1'), call('c2')), result('c1'), result('c1'), result('c2')), 'c1 a second time'],
    ['a result without an id', withMessages(user, turn(call('c1')), result(undefined), result('c1')), 'tool_call_id'],
    ['two calls of a turn with one id', withMessages(user, turn(call('c1'), call('c1')), result('c1')), 'two calls with the id c1'],
    ['an empty id', withMessages(user, turn(call('')), result('')), '.id'],
    ['an id of 41 characters', withMessages(user, turn(call('x'.repeat(41))), result('x'.repeat(41))), '1 to 40'],
    ['an id with a colon', withMessages(user, turn(call('Bash:0')), result('Bash:0')), 'Bash:0'],
    ['an empty list of calls', withMessages(user, turn()), 'tool_calls'],
    ['a call of another type', withMessages(user, turn({ ...call('c1'), type: 'custom' }), result('c1')), 'type function'],
    ['a call with an illegal name', withMessages(user, turn(call('c1', '{}', 'a.b')), result('c1')), 'a.b'],
    ['arguments that are an object', withMessages(user, turn(call('c1', {})), result('c1')), 'of call c1'],
    ['arguments that do not parse', withMessages(user, turn(call('c1', '{bad')), result('c1')), 'of call c1'],
    ['arguments that are a list', withMessages(user, turn(call('c1', '[]')), result('c1')), 'of call c1'],
    ['empty arguments', withMessages(user, turn(call('c1', '')), result('c1')), 'of call c1'],
    ['an assistant message that says nothing', withMessages(user, { role: 'assistant', content: null }), 'neither content nor tool calls'],
    ['empty instructions', withMessages({ role: 'system', content: '' }, user), 'is empty'],
    ['a user message without content', withMessages({ role: 'user' }), 'must be text'],
    ['an empty list of parts', withMessages({ role: 'user', content: [] }), 'empty list'],
    ['a part without text', withPart({ type: 'text', text: '' }), 'needs text'],
    ['an unknown part', withPart({ type: 'video', video: {} }), 'video'],
    [
      'an image in a result',
      withMessages(user, turn(call('c1')), result('c1', [{ type: 'image_url', image_url: { url: 'https://example.com/a.png' } }])),
      'in the role tool',
    ],
    ['an image whose address is a string', withPart({ type: 'image_url', image_url: 'https://example.com/a.png' }), 'image_url.url'],
    ['an image of an unknown type', withPart({ type: 'image_url', image_url: { url: 'data:image/tiff;base64,QUJD' } }), 'image_url.url'],
    ['an image without data', withPart({ type: 'image_url', image_url: { url: 'data:image/png;base64,' } }), 'image_url.url'],
    ['an image whose data is no base64', withPart({ type: 'image_url', image_url: { url: 'data:image/png;base64,a b' } }), 'image_url.url'],
    ['a file without a name', withPart({ type: 'file', file: { file_data: 'data:application/pdf;base64,QUJD' } }), 'filename'],
    ['sound of an unknown format', withPart({ type: 'input_audio', input_audio: { data: 'QUJD', format: 'ogg' } }), 'input_audio'],
    ['an empty list of tools', body({ tools: [] }), 'tools'],
    ['a tool choice without tools', body({ tool_choice: 'auto' }), 'tool_choice'],
    ['parallel calls without tools', body({ parallel_tool_calls: true }), 'parallel_tool_calls'],
    [
      'a choice of a tool that is not there',
      body({ tools: [tool()], tool_choice: { type: 'function', function: { name: 'g' } } }),
      'names g',
    ],
    ['an unknown tool choice', body({ tools: [tool()], tool_choice: 'any' }), 'tool_choice'],
    ['a tool with an illegal name', body({ tools: [tool({ name: 'a b' })] }), '"a b"'],
    ['two tools of one name', body({ tools: [tool(), tool()] }), 'f is used twice'],
    ['a tool whose schema is no object', body({ tools: [tool({ parameters: { type: 'string' } })] }), 'type object'],
    [
      'a strict tool with an open object',
      body({ tools: [tool({ strict: true, parameters: { ...closed, additionalProperties: undefined } })] }),
      'additionalProperties',
    ],
    [
      'a strict answer with an optional property',
      format({ strict: true, schema: { ...closed, required: [] } }),
      'a of the root must be required',
    ],
    [
      'a strict answer with an open object inside',
      format({ strict: true, schema: { ...closed, properties: { a: { anyOf: [{ type: 'object' }, { type: 'null' }] } } } }),
      'properties.a.anyOf.0',
    ],
    ['a strict answer with an unknown keyword', format({ strict: true, schema: { ...closed, minProperties: 1 } }), 'minProperties'],
    ['an answer with an illegal name', format({ name: 'my answer' }), 'my answer'],
    ['an answer without a schema', format({ schema: undefined }), 'schema'],
    ['JSON mode that does not say so', body({ response_format: { type: 'json_object' } }), 'JSON'],
    ['an unknown format', body({ response_format: { type: 'xml' } }), 'response_format'],
    ['both token limits', body({ max_tokens: 1, max_completion_tokens: 1 }), 'max_tokens'],
    ['a token limit of 0', body({ max_completion_tokens: 0 }), 'max_completion_tokens'],
    ['a temperature of 3', body({ temperature: 3 }), 'temperature'],
    ['five stop texts', body({ stop: ['a', 'b', 'c', 'd', 'e'] }), 'stop'],
    ['an empty list of stop texts', body({ stop: [] }), 'stop'],
    ['an unknown effort', body({ reasoning_effort: 'off' }), 'reasoning_effort'],
    ['stream options without stream', body({ stream_options: {} }), 'stream_options'],
    ['a lone surrogate in a text', withMessages({ role: 'user', content: 'x\ud83d' }), 'messages[0].content: holds a lone surrogate'],
    ['a lone surrogate in a name', body({ tools: [tool({ description: '\ude00' })] }), 'lone surrogate'],
    ['a lone surrogate in a key', body({ metadata: { '\ud83d': 'x' } }), 'lone surrogate'],
    ['a lone surrogate inside arguments', withMessages(user, turn(call('c1', '{"a":"\\ud83d"}')), result('c1')), 'lone surrogate'],
  ])('%s', (_name, request, fault) => {
    expect(checkChatRequest(request).join('\n')).toContain(fault);
  });

  test('every fault of a request is reported, not only the first', () => {
    expect(checkChatRequest({ messages: [result('c1'), turn(call(''))], tools: [] })).toHaveLength(5);
  });
});
