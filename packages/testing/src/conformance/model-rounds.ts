import type { JsonValue, Message, Part } from '@guardloop/core/model';
import { expect, it } from 'vitest';
import { drain, lastBody } from './drain.js';
import { assistantItem, hello, recordOf, requestOf, resultItem, userItem } from './items.js';
import type { ModelBench } from './model-bench.js';

export function testModelRounds(use: () => ModelBench): void {
  it('results of parallel calls go back, next to their calls', async () => {
    const bench = use();
    const calls = ['a', 'b', 'c'].map((id) => ({ id: `call_${id}`, name: 'find', arguments: `{"id":"${id}"}` }));
    bench.reply({ type: 'answer', text: ['Looking.'], calls }, { type: 'answer', text: ['Done.'] });
    const first = await drain(bench.model, requestOf(hello));
    const messages = [
      ...hello,
      recordOf(first, bench.model.provider, 1),
      resultItem('1.0', 'result A'),
      resultItem('1.1', 'result B', { isError: true }),
      resultItem('1.2', ''),
    ];
    const second = await drain(bench.model, requestOf(messages, { turn: 2 }));
    expect(second.text).toBe('Done.');
    const body = lastBody(bench);
    expect(body.indexOf('result A')).toBeGreaterThan(0);
    expect(body.indexOf('result B')).toBeGreaterThan(body.indexOf('result A'));
  });

  it("the provider's own message goes back as it was, also in a later process", async () => {
    const bench = use();
    bench.reply(
      { type: 'answer', text: ['Looking.'], calls: [{ id: 'call_a', name: 'find', arguments: '{"id": "a",  "more": [1, 2]}' }] },
      { type: 'answer', text: ['Done.'] },
    );
    const first = await drain(bench.model, requestOf(hello));
    const native = first.end?.native;
    expect(native).toBeDefined();
    const copy = JSON.parse(JSON.stringify(native)) as JsonValue;
    const recorded = { ...recordOf(first, bench.model.provider, 1), native: { provider: bench.model.provider, message: copy } };
    const { events } = await drain(bench.model, requestOf([...hello, recorded, resultItem('1.0', 'found')], { turn: 2 }));
    const body = lastBody(bench);
    for (const piece of Array.isArray(copy) ? (copy as readonly JsonValue[]) : [copy]) expect(body).toContain(JSON.stringify(piece));
    expect(events.filter(({ type }) => type === 'warning')).toEqual([]);
  });

  it("another maker's message is never sent, and a warning names the item once", async () => {
    const bench = use();
    bench.reply(...['a', 'b', 'c'].map((text) => ({ type: 'answer', text: [text] }) as const));
    const foreign = (id: string): Message =>
      assistantItem(id, { text: `neutral text of ${id}`, native: { provider: 'elsewhere', message: { secret: 'FOREIGN' } } });
    const messages: Message[] = [...hello, foreign('r/1'), userItem('r/i2', 'Go on.')];

    const warned: (string | undefined)[][] = [];
    for (let turn = 1; turn <= 3; turn += 1) {
      const { events } = await drain(bench.model, requestOf(messages, { turn }));
      warned.push(events.flatMap((event) => (event.type === 'warning' && event.about === 'native' ? [event.item] : [])));
      expect(lastBody(bench)).not.toContain('FOREIGN');
      expect(lastBody(bench)).toContain('neutral text of r/1');
      if (turn === 1) messages.push(foreign('r/2'), userItem('r/i3', 'Go on.'));
    }

    expect(warned).toEqual([['r/1'], ['r/2'], []]);
  });

  it('a message that looks like its own, but is said to be of another maker, is not sent', async () => {
    const bench = use();
    bench.reply({ type: 'answer', text: ['FOREIGN'] }, { type: 'answer', text: ['Done.'] });
    const { end } = await drain(bench.model, requestOf(hello));
    const native = { provider: 'elsewhere', message: end?.native ?? null };
    await drain(bench.model, requestOf([...hello, assistantItem('r/1', { text: 'neutral', native }), userItem('r/i2', 'Go on.')]));
    expect(lastBody(bench)).not.toContain('FOREIGN');
    expect(lastBody(bench)).toContain('neutral');
  });

  it("core's note goes behind everything else, in that request alone", async () => {
    const bench = use();
    bench.reply(...['a', 'b', 'c'].map((text) => ({ type: 'answer', text: [text] }) as const));
    const messages: Message[] = [...hello];
    await drain(bench.model, requestOf(messages, { note: 'THE NOTE' }));
    expect(lastBody(bench).indexOf('THE NOTE')).toBeGreaterThan(lastBody(bench).indexOf('Hello.'));
    messages.push(assistantItem('r/1', { calls: [{ id: '1.0', name: 'find', input: {} }] }), resultItem('1.0', 'LAST RESULT'));
    await drain(bench.model, requestOf(messages, { turn: 2, note: 'THE NOTE' }));
    expect(lastBody(bench).indexOf('THE NOTE')).toBeGreaterThan(lastBody(bench).indexOf('LAST RESULT'));
    await drain(bench.model, requestOf(messages, { turn: 3 }));
    expect(lastBody(bench)).not.toContain('THE NOTE');
  });

  it('a history with calls is legal where no tools are offered, and where the tool is gone', async () => {
    const bench = use();
    bench.reply(...['a', 'b', 'c'].map((text) => ({ type: 'answer', text: [text] }) as const));
    const messages = [...hello, assistantItem('r/1', { calls: [{ id: '1.0', name: 'gone', input: {} }] }), resultItem('1.0', 'found')];
    await drain(bench.model, requestOf(messages, { turn: 2, tools: [] }));
    await drain(bench.model, requestOf(messages, { turn: 2 }));
    await drain(bench.model, requestOf(messages, { turn: 2, toolChoice: 'none' }));
    expect(bench.requests).toHaveLength(3);
  });

  it('an image or a file of a user or a tool is sent, or a warning names its item once', async () => {
    const bench = use();
    const media: readonly Part[] = [
      { type: 'image', mediaType: 'image/png', data: `${'A'.repeat(40)}1000` },
      { type: 'image', mediaType: 'image/x-odd', data: `${'A'.repeat(40)}2000` },
      { type: 'image', url: 'https://example.com/3000.png' },
      { type: 'file', mediaType: 'application/pdf', data: `${'A'.repeat(40)}4000`, name: 'a.pdf' },
      { type: 'file', mediaType: 'application/x-odd', data: `${'A'.repeat(40)}5000` },
      { type: 'file', mediaType: 'application/pdf', url: 'https://example.com/6000.pdf' },
    ];
    for (const [index, part] of media.entries()) {
      const call = { id: '1.0', name: 'find', input: {} };
      const given: Message[] = [
        userItem('r/i1', '', { parts: [{ type: 'text', text: 'Look.' }, part] }),
        assistantItem('r/1', { text: 'So.' }),
      ];
      const found: Message[] = [
        ...hello,
        assistantItem('r/1', { calls: [call] }),
        resultItem('1.0', [{ type: 'text', text: 'found' }, part]),
      ];
      for (const [messages, item] of [
        [given, 'r/i1'],
        [found, 'r/1.0'],
      ] as const) {
        messages.push(userItem('r/i2', 'Go on.'));
        bench.reply({ type: 'answer', text: ['ok'] }, { type: 'answer', text: ['ok'] });
        const { events } = await drain(bench.model, requestOf(messages));
        const isSent = lastBody(bench).includes(
          part.type !== 'text' && part.data !== undefined ? part.data : `https://example.com/${index + 1}000`,
        );
        const warned = events.flatMap((event) => (event.type === 'warning' && event.about === 'part' ? [event.item] : []));
        if (!isSent || warned.length > 0) expect(warned, `warnings about ${JSON.stringify(part)}`).toEqual([item]);
        const later = await drain(bench.model, requestOf(messages, { turn: 2 }));
        expect(later.events.filter(({ type }) => type === 'warning')).toEqual([]);
      }
    }
  });

  it('each item is read once in its life, however long the transcript grows', async () => {
    const bench = use();
    const reads = new Map<string, number>();
    const messages: Message[] = [];
    for (let turn = 1; turn <= 4; turn += 1) {
      const call = { id: `${turn}.0`, name: 'find', input: { id: `o${turn}` } };
      messages.push(
        watched(userItem(`r/u${turn}`, 'Find it.'), reads),
        watched(assistantItem(`r/${turn}`, { text: 'Looking.', calls: [call] }), reads),
        watched(resultItem(call.id, 'found'), reads),
      );
      reads.clear();
      bench.reply({ type: 'answer', text: ['ok'] });
      await drain(bench.model, requestOf(messages, { turn }));
      const old = messages.slice(0, -3).map(({ id }) => id);
      expect(
        old.filter((id) => reads.has(id)),
        'items whose content was read again',
      ).toEqual([]);
    }
    expect(reads.size).toBe(3);
  });
}

/** The item, with reads of its content counted: of its text and parts, and of the inputs of its calls. */
function watched<T extends Message>(item: T, reads: Map<string, number>): T {
  const note = (): void => void reads.set(item.id, (reads.get(item.id) ?? 0) + 1);
  const whole = item.role === 'assistant' ? { ...item, calls: item.calls.map((call) => withCounted(call, ['input'], note)) } : item;
  return withCounted<object>(whole, ['text', 'parts', 'content'], note) as T;
}

function withCounted<T extends object>(value: T, names: readonly string[], note: () => void): T {
  const descriptors = Object.entries(value).map(([name, field]): [string, PropertyDescriptor] => {
    if (!names.includes(name)) return [name, { value: field, enumerable: true }];
    const get = (): unknown => {
      note();
      return field;
    };
    return [name, { get, enumerable: true }];
  });
  return Object.defineProperties({}, Object.fromEntries(descriptors)) as T;
}
