import assert from 'node:assert/strict';
// #region by-hand
import OpenAI from 'openai';
import type { ChatCompletionMessageParam, ChatCompletionTool } from 'openai/resources/chat/completions';

const client = new OpenAI();
const tools: ChatCompletionTool[] = [
  {
    type: 'function',
    function: {
      name: 'refund_order',
      description: 'Refund one order, in cents.',
      parameters: {
        type: 'object',
        properties: { orderId: { type: 'string' }, cents: { type: 'integer', exclusiveMinimum: 0 } },
        required: ['orderId', 'cents'],
        additionalProperties: false,
      },
    },
  },
];

async function refundOrder({ orderId, cents }: { orderId: string; cents: number }): Promise<object> {
  if (cents > 5_000) throw new Error('a person makes refunds above 50.00; say so');
  return { refundId: `r-${orderId}`, cents };
}

async function callTool(name: string, text: string): Promise<string> {
  try {
    if (name !== 'refund_order') throw new Error(`there is no tool ${name}`);
    return JSON.stringify(await refundOrder(JSON.parse(text)));
  } catch (error) {
    return JSON.stringify({ error: error instanceof Error ? error.message : String(error) });
  }
}

export async function runByHand(question: string): Promise<string> {
  const messages: ChatCompletionMessageParam[] = [
    { role: 'system', content: 'You refund orders for customers. Be brief.' },
    { role: 'user', content: question },
  ];
  for (let turn = 1; turn <= 8; turn += 1) {
    const completion = await client.chat.completions.create({ model: 'gpt-5', messages, tools });
    const message = completion.choices[0]?.message;
    if (message === undefined) throw new Error('the answer is empty');
    messages.push(message);
    const calls = (message.tool_calls ?? []).filter((call) => call.type === 'function');
    if (calls.length === 0) return message.content ?? '';
    const results = await Promise.all(calls.map((call) => callTool(call.function.name, call.function.arguments)));
    for (const [index, call] of calls.entries()) {
      messages.push({ role: 'tool', tool_call_id: call.id, content: results[index] ?? '' });
    }
  }
  throw new Error('no answer after 8 turns');
}
// #endregion
assert.match(await runByHand('Refund my order o1, it cost 120.00.'), /I was told: .*a person makes refunds above 50/);
