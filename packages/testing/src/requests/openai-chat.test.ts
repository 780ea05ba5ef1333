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
const stored = (metadata: unknown) => body({ store: true, metadata });
const nested = (levels: number): object => ({
  type: 'object',
  properties: { a: levels > 1 ? nested(levels - 1) : { type: 'string' } },
  required: ['a'],
  additionalProperties: false,
});
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
    ['with metadata that is stored', body({ store: true, metadata: { team: 'billing', ['k'.repeat(64)]: 'v'.repeat(512) } })],
    ['with a seed, tokens and a bias', body({ seed: -7, logprobs: true, top_logprobs: 20, logit_bias: { 50256: -100 } })],
    ['with a named participant', withMessages({ ...user, name: 'ann_1' })],
    ['with settings that are null', body({ stop: null, seed: null, metadata: null, temperature: null })],
    ['with a tool that takes nothing', body({ tools: [tool({ parameters: undefined })] })],
    [
      'with a tool whose properties hold unions',
      body({ tools: [tool({ parameters: { type: 'object', properties: { a: { oneOf: [{}] } } } })] }),
    ],
    ['with a strict schema that refers to itself', format({ strict: true, schema: { ...closed, properties: { a: { $ref: '#' } } } })],
    ['with a strict schema of 10 levels', format({ strict: true, schema: nested(10) })],
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
    ['a tool message without content', withMessages(user, turn(call('c1')), { role: 'tool', tool_call_id: 'c1' }), 'must be text'],
    ['a result of null', withMessages(user, turn(call('c1')), result('c1', null)), 'must be text'],
    ['a name on a result', withMessages(user, turn(call('c1')), { ...result('c1'), name: 'f' }), 'messages[2].name'],
    ['a name with a space', withMessages({ ...user, name: 'Ann B' }), 'no legal name of a participant'],
    ['a null content where there are no calls', withMessages(user, { role: 'assistant', content: null }), 'neither'],
    ['calls that are null', withMessages(user, { role: 'assistant', content: 'x', tool_calls: null }), 'tool_calls'],
    ['an index in a call that is sent back', withMessages(user, turn({ ...call('c1'), index: 0 }), result('c1')), 'tool_calls[0].index'],
    ['a signature in a call', withMessages(user, turn({ ...call('c1'), extra_content: {} }), result('c1')), 'extra_content'],
    [
      'more than 128 calls of one message',
      withMessages(user, turn(...Array.from({ length: 129 }, (_each, index) => call(`c${index}`)))),
      '1 to 128',
    ],
    [
      'a part of audio in instructions',
      withMessages({ role: 'system', content: [{ type: 'input_audio', input_audio: {} }] }),
      'role system',
    ],
    [
      'an image of the assistant',
      withMessages(user, { role: 'assistant', content: [{ type: 'image_url', image_url: {} }] }),
      'role assistant',
    ],
    ['a part with a field of another dialect', withPart({ type: 'text', text: 'x', cache_control: {} }), 'cache_control'],
    ['a file by address', withPart({ type: 'file', file: { file_url: 'https://example.com/a.pdf' } }), 'file_url'],
    ['a file that is no PDF', withPart({ type: 'file', file: { filename: 'a.csv', file_data: 'data:text/csv;base64,QUJD' } }), 'of a PDF'],
    ['a file that is not base64', withPart({ type: 'file', file: { filename: 'a', file_data: 'data:text/plain,abc' } }), 'base64'],
    ['an image by an address of another kind', withPart({ type: 'image_url', image_url: { url: 'file:///etc/passwd' } }), 'image_url.url'],
    ['129 tools', body({ tools: Array.from({ length: 129 }, (_each, index) => tool({ name: `f${index}` })) }), '1 to 128'],
    ['a tool with a field of another dialect', body({ tools: [tool({ cache_control: {} })] }), 'cache_control'],
    ['a tool whose root has no properties', body({ tools: [tool({ parameters: { type: 'object' } })] }), 'has no properties'],
    [
      'a tool whose root is a union',
      body({ tools: [tool({ parameters: { type: 'object', properties: {}, anyOf: [{}] } })] }),
      'anyOf is not allowed at the root',
    ],
    [
      'a tool with a list of anything',
      body({ tools: [tool({ parameters: { type: 'object', properties: { a: { type: ['array', 'null'] } } } })] }),
      'properties.a is an array without items',
    ],
    ['a strict tool without a schema', body({ tools: [tool({ strict: true, parameters: undefined })] }), 'needed with strict'],
    [
      'a strict answer that requires what it does not have',
      format({ strict: true, schema: { ...closed, required: ['a', 'b'] } }),
      'b of the root is required and no property',
    ],
    [
      'a strict answer with a reference beside a description',
      format({ strict: true, schema: { ...closed, properties: { a: { $ref: '#', description: 'x' } } } }),
      '$ref of properties.a stands beside description',
    ],
    [
      'a strict answer that refers to nothing',
      format({ strict: true, schema: { ...closed, properties: { a: { $ref: '#/$defs/x' } } } }),
      'nothing',
    ],
    [
      'a strict answer with an unknown format',
      format({ strict: true, schema: { ...closed, properties: { a: { type: 'string', format: 'uri' } } } }),
      '"uri"',
    ],
    ['a strict answer with a property of any type', format({ strict: true, schema: { ...closed, properties: { a: {} } } }), 'has no type'],
    [
      'a strict answer with an empty union',
      format({ strict: true, schema: { ...closed, properties: { a: { anyOf: [] } } } }),
      'at least one',
    ],
    ['a strict answer of 11 levels', format({ strict: true, schema: nested(11) }), 'nested more than 10'],
    [
      'a strict answer with 1,001 values of enums',
      format({ strict: true, schema: { ...closed, properties: { a: { enum: Array.from({ length: 1_001 }, (_each, index) => index) } } } }),
      '1000 values of enums',
    ],
    ['an answer whose name is too long', format({ name: 'x'.repeat(65) }), 'response_format.json_schema.name'],
    ['an answer without a name', format({ name: undefined }), 'response_format.json_schema.name'],
    ['an answer with an unknown field', format({ title: 'x' }), 'response_format.json_schema.title'],
    ['metadata that is not stored', body({ metadata: { a: 'b' } }), 'store'],
    ['17 keys of metadata', stored(Object.fromEntries(Array.from({ length: 17 }, (_each, index) => [`k${index}`, 'v']))), '16 keys'],
    ['a key of metadata of 65 characters', stored({ ['k'.repeat(65)]: 'v' }), '64 characters'],
    ['a value of metadata of 513 characters', stored({ a: 'v'.repeat(513) }), '512 characters'],
    ['a value of metadata that is a number', stored({ a: 1 }), 'metadata.a: must be text'],
    ['metadata that is a list', stored(['a']), 'metadata: must be an object'],
    ['a seed that is a fraction', body({ seed: 0.5 }), 'seed'],
    ['a seed that is text', body({ seed: '1' }), 'seed'],
    ['an empty stop text', body({ stop: ['a', ''] }), 'stop'],
    ['a temperature that is text', body({ temperature: '1' }), 'temperature'],
    ['a store that is text', body({ store: 'yes' }), 'store'],
    ['token details without log probabilities', body({ top_logprobs: 1 }), 'logprobs'],
    ['an unknown stream option', body({ stream: true, stream_options: { usage: true } }), 'stream_options.usage'],
    ['an unknown tier', body({ service_tier: 'fast' }), 'service_tier'],
    ['an audio answer without its format', body({ modalities: ['text', 'audio'] }), 'audio'],
    ['a bias out of its range', body({ logit_bias: { 1: 101 } }), 'logit_bias'],
    ['129 answers', body({ n: 129 }), 'n'],
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
