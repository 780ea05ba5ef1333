import type { AssistantMessage, JsonObject, Label, Message, ModelEvent, ModelRequest } from '@guardloop/core/model';
import { collect } from '@guardloop/core/model';
import { readRecordings } from '@guardloop/testing/conformance';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { checkRequest } from './model-server.js';
import { secretsOf } from './natives.js';
import { chat6, messages1, readers, responses6 } from './sides.js';
import { streamFolders } from './stream-folders.js';
import type { Dialect } from './wire-request.js';
import { wireRequest } from './wire-request.js';

/** `RUNS=2000` for a soak. */
const runs = Number(process.env.RUNS ?? 150);
const user: Label = { origin: 'user', integrity: 'trusted' };

interface Recorded {
  readonly dialect: Dialect;
  readonly answer: Pick<AssistantMessage, 'text' | 'calls' | 'native'>;
}

/** Every recorded answer that core would have recorded, as it would have. */
const recorded: Recorded[] = [];
beforeAll(async () => {
  const makers = { chat: chat6, responses: responses6, messages: messages1 };
  for (const [dialect, folder] of Object.entries(streamFolders) as [Dialect, URL][]) {
    const { provider } = makers[dialect].model({ url: 'https://provider.test', fetch });
    for (const { events } of readRecordings(folder)) {
      const { text, calls, end } = await collect(replay(events));
      if (end === undefined || end.stopReason === 'length' || end.stopReason === 'refusal') continue;
      if (text === '' && calls.length === 0) continue;
      recorded.push({
        dialect,
        answer: {
          text,
          calls: calls.map((call, index) => ({
            id: `${index}`,
            name: call.name,
            input: 'input' in call ? (call.input as JsonObject) : {},
            ...(call.providerId === undefined ? {} : { providerId: call.providerId }),
          })),
          ...(end.native === undefined ? {} : { native: { provider, message: end.native } }),
        },
      });
    }
  }
});

async function* replay(events: readonly ModelEvent[]): AsyncGenerator<ModelEvent> {
  yield* events;
}

/** A transcript of these answers, each as a turn of its own with its results, some with what the user said behind them. */
function transcriptOf(picked: readonly { readonly at: number; readonly isFollowed: boolean }[]): readonly Message[] {
  const said = (id: string): Message => ({ role: 'user', id, via: 'user', parts: [{ type: 'text', text: `question ${id}` }], label: user });
  return [
    said('i1'),
    ...picked.flatMap(({ at, isFollowed }, index): Message[] => {
      const { answer } = recorded[at % recorded.length] as Recorded;
      const turn = index + 1;
      const calls = answer.calls.map((call, place) => ({ ...call, id: `${turn}.${place}` }));
      const label: Label = { origin: 'agent:main', integrity: 'trusted' };
      return [
        { role: 'assistant', id: `r/${turn}`, agent: 'main', ...answer, calls, label },
        ...calls.map(
          ({ id, name }): Message => ({
            role: 'tool',
            id: `r/${id}`,
            callId: id,
            tool: name,
            content: `result ${id}`,
            isError: false,
            label,
          }),
        ),
        ...(isFollowed || calls.length === 0 ? [said(`u${turn}`)] : []),
      ];
    }),
  ];
}

const picks = fc.array(fc.record({ at: fc.nat(1_000), isFollowed: fc.boolean() }), { minLength: 1, maxLength: 8 });
const settings = fc.constantFrom<ModelRequest['settings']>(
  {},
  { reasoning: 'high' },
  { reasoning: 'off' },
  { reasoning: 'low', maxTokens: 900 },
);

describe.each(readers)('$name', (side) => {
  it('any answers of any makers, one after another, make a legal request; each result stands with its call, what is opaque stays with its maker, and each loss is told once', async () => {
    await fc.assert(
      fc.asyncProperty(picks, settings, async (picked, given) => {
        let body: unknown;
        let headers = new Headers();
        const send: typeof fetch = async (_input, init) => {
          body = JSON.parse(String(init?.body));
          headers = new Headers(init?.headers);
          return new Response('{}', { status: 400 });
        };
        const messages = transcriptOf(picked);
        const request = { agent: 'main', turn: 9, system: '', messages, tools: [], settings: given };
        const warned: string[] = [];
        const model = side.model({ url: 'https://provider.test', fetch: send });
        const reading = async (): Promise<void> => {
          for await (const event of model.stream(request, { signal: new AbortController().signal }))
            if (event.type === 'warning' && event.about === 'native') warned.push(event.item ?? '');
        };
        await expect(reading()).rejects.toMatchObject({ code: 'MODEL_FAILED', details: { status: 400 } });

        expect(checkRequest(side.dialect, body, headers)).toEqual([]);
        const wire = wireRequest(side.dialect, body);
        const answers = messages.filter((message) => message.role === 'assistant');
        const calls = answers.flatMap((answer) => answer.calls);
        expect(wire.results.map(({ text }) => text)).toEqual(calls.map(({ id }) => `result ${id}`));
        expect(wire.calls.map(({ id }) => id)).toEqual(wire.results.map(({ id }) => id));
        expect(wire.calls.map(({ input }) => input)).toEqual(calls.map(({ input }) => input));
        const foreign = answers.filter(({ native }) => native !== undefined && native.provider !== model.provider);
        for (const secret of foreign.flatMap(secretsOf)) expect(wire.json).not.toContain(secret);
        const lost = warned.filter((id) => foreign.some((answer) => answer.id === id));
        expect(lost).toEqual(foreign.map(({ id }) => id));
        expect(new Set(warned).size).toBe(warned.length);
      }),
      { numRuns: runs },
    );
  });
});
