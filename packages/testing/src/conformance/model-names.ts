import type { Message, ToolCall } from '@guardloop/core/model';
import { expect, it } from 'vitest';
import { drain, lastBody } from './drain.js';
import { assistantItem, hello, requestOf, resultItem, toolSpec, userItem } from './items.js';
import type { ModelBench } from './model-bench.js';

/** Names that a provider may refuse, and names that a careless mapping makes equal. */
const oddNames = [
  'find',
  'find.order',
  'find_order',
  'find-order',
  'find order',
  'Find_Order',
  'fïnd',
  '東京',
  '東亰',
  '😀',
  'a/b:c',
  `${'n'.repeat(99)}a`,
  `${'n'.repeat(99)}b`,
  'n'.repeat(64),
  'n'.repeat(65),
];

/** Ids as providers and careless imitations of them give them: equal, empty, missing, long with one beginning, of other characters. */
const oddIds = [
  'call_1',
  'call_1',
  '',
  undefined,
  ' ',
  'Bash:0',
  'Bash.0',
  'ünï',
  `${'x'.repeat(79)}a`,
  `${'x'.repeat(79)}b`,
  'x'.repeat(40),
  'x'.repeat(41),
];

export function testModelNames(use: () => ModelBench): void {
  it('a tool of any name is offered under a legal name of its own, and called back by the name it has', async () => {
    const bench = use();
    const tools = oddNames.map(toolSpec);
    bench.reply({ type: 'answer', text: ['First.'] });
    await drain(bench.model, requestOf(hello, { tools }));
    const wire = bench.toolNames(bench.requests[0]?.body);
    expect(new Set(wire).size).toBe(oddNames.length);

    const calls = wire.map((name, index) => ({ id: `call_${index}`, name, arguments: `{"id":"o${index}"}` }));
    bench.reply({ type: 'answer', calls });
    const answer = await drain(bench.model, requestOf(hello, { tools }));
    expect(answer.calls.map(({ name }) => name)).toEqual(oddNames);
    expect(bench.toolNames(bench.requests[1]?.body)).toEqual(wire);
  });

  it('the wire form of a name depends on the name alone', async () => {
    const bench = use();
    for (const tools of [oddNames, oddNames.toReversed(), ...oddNames.map((name) => [name])]) {
      bench.reply({ type: 'answer', text: ['ok'] });
      await drain(bench.model, requestOf(hello, { tools: tools.map(toolSpec) }));
    }
    const [all = [], reversed = [], ...alone] = bench.requests.map(({ body }) => bench.toolNames(body));
    expect(reversed).toEqual(all.toReversed());
    expect(alone.flat()).toEqual(all);
  });

  it('a call of a tool that was not offered comes by the name that the model gave it', async () => {
    const bench = use();
    bench.reply({ type: 'answer', calls: [{ id: 'call_a', name: 'multi_tool_use.parallel', arguments: '{}' }] });
    const { calls } = await drain(bench.model, requestOf(hello));
    expect(calls).toEqual([{ providerId: 'call_a', name: 'multi_tool_use.parallel', input: {} }]);
  });

  it('a forced tool is named as it is offered', async () => {
    const bench = use();
    for (const name of ['find.order', '東京']) {
      bench.reply({ type: 'answer', text: ['ok'] });
      await drain(bench.model, requestOf(hello, { tools: [toolSpec('other'), toolSpec(name)], toolChoice: { tool: name } }));
      const [, wire = ''] = bench.toolNames(bench.requests.at(-1)?.body);
      expect(lastBody(bench).split(JSON.stringify(wire))).toHaveLength(3);
    }
  });

  it('ids of any kind become legal ids, different within a request, and the same in every later one', async () => {
    const bench = use();
    const messages: Message[] = [...hello];
    for (let turn = 1; turn <= 2; turn += 1) {
      const calls = oddIds.map((providerId, index): ToolCall => {
        const call = { id: `${turn}.${index}`, name: 'find', input: { id: `o${index}` } };
        return providerId === undefined ? call : { ...call, providerId };
      });
      messages.push(assistantItem(`r/${turn}`, { calls }), ...calls.map(({ id }) => resultItem(id, `result of ${id}`)));
    }
    const stored = JSON.stringify(messages);
    bench.reply(...['a', 'b', 'c'].map((text) => ({ type: 'answer', text: [text] }) as const));
    await drain(bench.model, requestOf(messages, { turn: 3 }));
    const first = lastBody(bench);
    expect(JSON.stringify(messages)).toBe(stored);

    await drain(bench.model, requestOf(JSON.parse(stored) as readonly Message[], { turn: 3 }));
    expect(lastBody(bench)).toBe(first);

    messages.push(assistantItem('r/3', { text: 'Found.' }), userItem('r/u4', 'Thanks.'));
    await drain(bench.model, requestOf(messages, { turn: 4 }));
    for (const id of first.match(/"(?:id|call_id|tool_call_id|tool_use_id)":"[^"]+"/g) ?? []) expect(lastBody(bench)).toContain(id);
  });
}
