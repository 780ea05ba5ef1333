import type { ModelEvent, ModelRequest, ModelSettings } from '@guardloop/core/model';
import { expect, it } from 'vitest';
import { drain } from './drain.js';
import { hello, requestOf, toolSpec } from './items.js';
import type { BenchRequest, ModelBench } from './model-bench.js';

interface SettingCase {
  readonly name: keyof ModelSettings;
  readonly settings: ModelSettings;
  /** What stands in the request where the setting has reached it. Left out: the request only has to differ from one without it. */
  readonly seenAs?: string | undefined;
  /** True for what bounds the answer: a provider that lacks it must refuse, since to leave it out would lift the bound. */
  readonly isBound?: boolean | undefined;
}

const cases: readonly SettingCase[] = [
  { name: 'temperature', settings: { temperature: 0.37 }, seenAs: '0.37' },
  { name: 'temperature', settings: { temperature: 0 } },
  { name: 'topP', settings: { topP: 0.41 }, seenAs: '0.41' },
  { name: 'maxTokens', settings: { maxTokens: 1_234 }, seenAs: '1234', isBound: true },
  { name: 'parallelToolCalls', settings: { parallelToolCalls: false } },
  { name: 'stopSequences', settings: { stopSequences: ['STOP-HERE', 'OR-HERE'] }, seenAs: 'OR-HERE', isBound: true },
  { name: 'reasoning', settings: { reasoning: 'low' } },
  { name: 'reasoning', settings: { reasoning: 'high' } },
  { name: 'reasoning', settings: { reasoning: { maxTokens: 2_345 } }, isBound: true },
  { name: 'seed', settings: { seed: 424_242 }, seenAs: '424242' },
  { name: 'metadata', settings: { metadata: { desk: 'THE-DESK' } }, seenAs: 'THE-DESK' },
  { name: 'headers', settings: { headers: { 'x-conformance': 'THE-HEADER' } }, seenAs: 'THE-HEADER' },
];

type Outcome = 'sent' | 'warned' | 'refused';

export function testModelSettings(use: () => ModelBench): void {
  it.each(cases.map((each) => ({ ...each, title: JSON.stringify(each.settings) })))(
    '$title reaches the request, or is warned about, or refused before any request',
    async (each) => {
      const outcome = await outcomeOf(use(), each);
      if (each.isBound === true) expect(outcome, 'what bounds an answer is not left out').not.toBe('warned');
    },
  );

  it('what was left out is said again for each request that asks for it, and only there', async () => {
    const bench = use();
    const warnings: (readonly ModelEvent[])[] = [];
    const settings: ModelSettings = { seed: 1, metadata: { desk: 'd' }, temperature: 0.5, topP: 0.5, parallelToolCalls: false };
    for (const given of [settings, {}, settings]) {
      bench.reply({ type: 'answer', text: ['ok'] });
      const { events } = await drain(bench.model, requestOf(hello, { settings: given }));
      warnings.push(events.filter(({ type }) => type === 'warning'));
    }
    expect(warnings[1]).toEqual([]);
    expect(warnings[2]).toEqual(warnings[0]);
    const told = (warnings[0] ?? []).map((event) => (event.type === 'warning' ? event.message : ''));
    expect(new Set(told).size).toBe(told.length);
  });

  it('tool choice and parallel calls are left out where no tools are offered', async () => {
    const bench = use();
    for (const toolChoice of ['auto', 'none', 'required'] as const) {
      bench.reply({ type: 'answer', text: ['ok'] });
      await drain(bench.model, requestOf(hello, { tools: [], toolChoice, settings: { parallelToolCalls: true } })).catch(() => undefined);
    }
    for (const { body } of bench.requests) expect(bench.toolNames(body)).toEqual([]);
  });

  it('each tool choice makes a request of its own', async () => {
    const bench = use();
    const choices = ['auto', 'required', 'none', { tool: 'find' }, { tool: 'send' }] as const;
    for (const toolChoice of choices) {
      bench.reply({ type: 'answer', text: ['ok'] });
      await drain(bench.model, requestOf(hello, { toolChoice }));
    }
    expect(new Set(bench.requests.map(({ body }) => JSON.stringify(body))).size).toBe(choices.length);
  });

  it("fields of the provider's own pass through under its name, and another provider's do not", async () => {
    const bench = use();
    const { extra = {} } = bench;
    bench.reply({ type: 'answer', text: ['ok'] });
    const settings = { extra: { [bench.model.provider]: extra, elsewhere: { odd_field: 'FOREIGN' } } };
    await drain(bench.model, requestOf(hello, { settings }));
    expect(bench.requests[0]?.body).toMatchObject(extra);
    expect(JSON.stringify(bench.requests[0])).not.toContain('FOREIGN');
  });

  it('without instructions there is no system text', async () => {
    const bench = use();
    for (const system of ['SYSTEM TEXT', '']) {
      bench.reply({ type: 'answer', text: ['ok'] });
      await drain(bench.model, requestOf(hello, { system }));
    }
    const [withText, without] = bench.requests.map(({ body }) => JSON.stringify(body));
    expect(withText).toContain('SYSTEM TEXT');
    expect(without).not.toContain('""');
  });
}

async function outcomeOf(bench: ModelBench, { name, settings, seenAs }: SettingCase): Promise<Outcome> {
  const plain = await send(bench, {});
  const asked = await send(bench, settings);
  if ('refused' in asked) {
    expect(asked.refused, `the refusal of ${name}`).toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining(name) as string,
    });
    return 'refused';
  }
  const warning = asked.events.find((event) => event.type === 'warning' && event.about === 'setting');
  if (warning?.type === 'warning') {
    expect(warning.message, `the warning about ${name}`).toContain(name);
    return 'warned';
  }
  if ('refused' in plain) throw new Error('A request without settings was refused.');
  const sent = JSON.stringify([asked.request.body, asked.request.headers]);
  if (seenAs !== undefined) expect(sent, `${name} was neither sent, nor warned about, nor refused`).toContain(seenAs);
  else
    expect(JSON.stringify(asked.request.body), `${name} was neither sent, nor warned about, nor refused`).not.toBe(
      JSON.stringify(plain.request.body),
    );
  return 'sent';
}

type Sent = { readonly request: BenchRequest; readonly events: readonly ModelEvent[] } | { readonly refused: unknown };

async function send(bench: ModelBench, settings: ModelSettings): Promise<Sent> {
  const before = bench.requests.length;
  bench.reply({ type: 'answer', text: ['ok'] });
  const request: ModelRequest = requestOf(hello, { settings, tools: [toolSpec('find')] });
  try {
    const { events } = await drain(bench.model, request);
    const made = bench.requests[before];
    if (made === undefined) throw new Error('No request was made.');
    return { request: made, events };
  } catch (refused) {
    if (bench.requests.length > before) throw refused;
    return { refused };
  }
}
