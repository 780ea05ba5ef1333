// A model of your own: one method. Here around a completion engine that knows only text, as many local ones do, so the adapter writes the
// transcript into a prompt and reads calls out of the answer.
import assert from 'node:assert/strict';
import { assertCompleted, defineAgent, defineTool, run } from '@guardloop/core';
import type { JsonValue, Message, Model, ModelRequest } from '@guardloop/core/model';
import { GuardloopError } from '@guardloop/core/model';
import { z } from 'zod';

type Engine = (prompt: string, signal: AbortSignal) => AsyncIterable<string>;

function engineModel(id: string, engine: Engine): Model {
  return {
    id,
    provider: 'example.engine',
    async *stream(request, { signal }) {
      const prompt = writePrompt(request);
      let answer = '';
      try {
        // Pass text on as it comes: core holds it back where a guardrail must see it first. Stop promptly when the signal is aborted.
        for await (const text of engine(prompt, signal)) {
          answer += text;
          if (!answer.startsWith('CALL')) yield { type: 'text.delta', text };
        }
      } catch (cause) {
        signal.throwIfAborted();
        throw new GuardloopError('MODEL_FAILED', `The engine of model ${id} failed. Try again.`, { cause, isRetryable: true });
      }
      const [, name, raw = ''] = /^CALL (\S+) (.*)$/.exec(answer) ?? [];
      // Arguments that are no JSON are no exception: core tells the model so.
      if (name !== undefined) yield { type: 'tool.call', call: { name, ...parse(raw) } };
      // `end` comes last, exactly once: without it the stream counts as cut off.
      const usage = { requests: 1, inputTokens: Math.ceil(prompt.length / 4), outputTokens: Math.ceil(answer.length / 4) };
      yield { type: 'end', stopReason: name === undefined ? 'stop' : 'tools', usage };
    },
  };
}

function parse(raw: string): { readonly input: JsonValue } | { readonly unparsable: string } {
  try {
    return { input: JSON.parse(raw) as JsonValue };
  } catch {
    return { unparsable: raw };
  }
}

/** The request is all there is: instructions, tools, the agent's view, and core's own `note`, which goes last. */
function writePrompt({ system, tools, messages, note }: ModelRequest): string {
  const offered = tools.map(({ name, description, schema }) => `TOOL ${name}: ${description} ${JSON.stringify(schema)}`);
  return [system, ...offered, ...messages.flatMap(writeMessage), ...(note === undefined ? [] : [`NOTE: ${note}`])].join('\n');
}

function writeMessage(message: Message): readonly string[] {
  if (message.role === 'assistant')
    return [message.text, ...message.calls.map(({ name, input }) => `CALL ${name} ${JSON.stringify(input)}`)];
  if (message.role === 'tool') return [`RESULT ${JSON.stringify(message.content)}${message.note ? ` (${message.note})` : ''}`];
  return message.parts.map((part) => `USER: ${part.type === 'text' ? part.text : `[${part.type}]`}`);
}

// The engine: it continues the prompt. A real one would run weights; this one looks at the last line.
const engine: Engine = async function* (prompt, signal) {
  signal.throwIfAborted();
  const last = prompt.split('\n').at(-1) ?? '';
  const numbers = last.match(/\d+/g) ?? [];
  if (last.startsWith('USER: ')) yield `CALL add {"numbers":[${numbers.join(',')}]}`;
  else yield* ['That ', 'makes ', `${numbers[0] ?? 'nothing'}.`];
};

const add = defineTool({
  name: 'add',
  description: 'Adds numbers.',
  input: z.object({ numbers: z.array(z.number()) }),
  flow: { effect: 'none', results: 'trusted' },
  execute: ({ numbers }) => String(numbers.reduce((sum, number) => sum + number, 0)),
});
const adder = defineAgent({ name: 'adder', instructions: 'Add what the user says.', model: engineModel('toy', engine), tools: [add] });
const result = await run(adder, 'What is 12 and 30?');
assertCompleted(result);
console.log(result.text, result.usage);
assert.equal(result.text, 'That makes 42.');
// A real adapter proves itself with `modelConformance` from @guardloop/testing/conformance.
