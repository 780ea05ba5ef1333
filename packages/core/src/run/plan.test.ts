import { describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { enterRun, modelOf } from '../../test/enter-run.js';
import { defineAgent } from '../define/agent.js';
import { agentSpecOf, guardrailSpecOf } from '../define/definition.js';
import { defineGuardrail } from '../define/guardrail.js';
import { handoff } from '../define/handoff.js';
import { resolveAgents } from '../define/resolve.js';
import type { AgentSpec, GuardrailSpec } from '../define/specs.js';
import { defineTool } from '../define/tool.js';
import type { Agent } from '../define/types.js';
import type { Model, ModelRequest } from '../model/types.js';
import { spill } from '../project/spill.js';
import type { Surface } from '../state/events.js';
import { guardsOfTool, manifestOf, modelOf as modelOfTurn, offerTools, planOf, settingsOf, standNow, standOf } from './plan.js';
import { run } from './run.js';

it('describes a handoff by name with the description of the agent that bears the name', async () => {
  const requests: ModelRequest[] = [];
  const usage = { requests: 1, inputTokens: 1, outputTokens: 1 };
  const model: Model = {
    id: 'm',
    provider: 'test',
    async *stream(request) {
      requests.push(request);
      if (request.turn === 1) yield { type: 'tool.call', call: { name: 'transfer_to_billing', input: {} } };
      else yield { type: 'text.delta', text: 'Done.' };
      yield { type: 'end', stopReason: request.turn === 1 ? 'tools' : 'stop', usage };
    },
  };
  const billing = defineAgent({ name: 'billing', description: 'Refunds.', instructions: '', model, handoffs: ['triage'] });
  const triage = defineAgent({ name: 'triage', description: 'Routes people.', instructions: '', model, handoffs: [billing] });
  expect((await run(triage, 'hello')).status).toBe('completed');
  expect(requests.map(({ tools }) => tools.map(({ description }) => description))).toEqual([
    ['Hand the conversation over to billing: Refunds.'],
    ['Hand the conversation over to triage: Routes people.'],
  ]);
});

const model = modelOf();
const specOf = (agent: unknown): AgentSpec => agentSpecOf(agent, 'An agent');
const guardOf = (guardrail: unknown): GuardrailSpec => guardrailSpecOf(guardrail, 'A guardrail');
const guard = (name: string, on: readonly Surface[], more: object = {}) =>
  defineGuardrail({ name, on: [...on], check: () => ({ action: 'allow' }), ...more } as never);
const entry = (name: string, surfaces: readonly Surface[]) => ({ name, surfaces, phases: ['check'] });
const names = (placed: readonly { readonly spec: GuardrailSpec; readonly level: string }[]) =>
  placed.map(({ spec, level }) => `${level} ${spec.name}`);
const look = defineTool({ name: 'look', description: 'Looks.', input: z.object({}), execute: () => 'seen' });

describe('what stands around an agent', () => {
  const own = guard('own', ['toolInput', 'toolOutput']);
  const ownOutput = guard('ownOutput', ['toolOutput']);
  const send = defineTool({
    name: 'send',
    description: 'Sends.',
    input: z.object({ to: z.string() }),
    execute: () => 'sent',
    guardrails: [own, ownOutput] as never,
    strict: true,
  });
  const billing = defineAgent({ name: 'billing', instructions: '', model });
  const agent = specOf(
    defineAgent({
      name: 'a',
      instructions: '',
      model,
      tools: [look, send],
      handoffs: [billing],
      guardrails: [
        guard('everywhere', ['input', 'toolInput', 'toolOutput', 'handoff', 'output']),
        guard('sends', ['toolInput'], { tools: ['send'] }),
      ],
    }),
  );
  const runGuards = [guardOf(guard('outer', ['input', 'toolOutput'])), guardOf(guard('last', ['output', 'handoff']))];
  const standing = () => standOf(agent, [...runGuards]);

  it("are the run's guardrails, then the agent's, then the tool's own, each where it stands", () => {
    const stand = standing();
    expect(names(stand.input)).toEqual(['run outer', 'agent everywhere']);
    expect(names(stand.output)).toEqual(['run last', 'agent everywhere']);
    expect(names(stand.handoff)).toEqual(['run last', 'agent everywhere']);
    expect(names(guardsOfTool(stand, 'toolInput', 'look'))).toEqual(['agent everywhere']);
    expect(names(guardsOfTool(stand, 'toolInput', 'send'))).toEqual(['agent everywhere', 'agent sends', 'tool own']);
    expect(names(guardsOfTool(stand, 'toolOutput', 'look'))).toEqual(['run outer', 'agent everywhere']);
    expect(names(guardsOfTool(stand, 'toolOutput', 'send'))).toEqual(['run outer', 'agent everywhere', 'tool own', 'tool ownOutput']);
    expect(guardsOfTool(stand, 'toolInput', 'gone')).toEqual([]);
  });

  it('is said in its manifest, with the tools that have their own', () => {
    const stand = standing();
    expect(stand.manifest).toEqual({
      run: [entry('outer', ['input', 'toolOutput']), entry('last', ['output', 'handoff'])],
      agent: [
        entry('everywhere', ['input', 'toolInput', 'toolOutput', 'handoff', 'output']),
        { ...entry('sends', ['toolInput']), tools: ['send'] },
      ],
      tools: { send: [entry('own', ['toolInput', 'toolOutput']), entry('ownOutput', ['toolOutput'])] },
      definitions: {
        name: 'a',
        agent: expect.stringMatching(/^[0-9a-f]{16}$/),
        tools: { look: expect.stringMatching(/^[0-9a-f]{16}\.[0-9a-f]{16}$/), send: expect.stringMatching(/^[0-9a-f]{16}\.[0-9a-f]{16}$/) },
      },
    });
    expect(Object.isFrozen(stand.manifest) && Object.isFrozen(stand.manifest.run)).toBe(true);
  });

  it('labels what the agent says', () => {
    const stand = standing();
    expect(stand.labels).toEqual({
      trusted: { origin: 'agent:a', integrity: 'trusted' },
      untrusted: { origin: 'agent:a', integrity: 'untrusted' },
    });
    expect(Object.isFrozen(stand.labels.trusted) && Object.isFrozen(stand.labels.untrusted)).toBe(true);
  });

  it('offers tools and handoffs, with the word about strictness where it is not left to the provider', () => {
    const stand = standing();
    expect(stand.wire).toEqual([
      { name: 'look', description: 'Looks.', schema: agent.tools[0]?.input.json },
      { name: 'send', description: 'Sends.', schema: agent.tools[1]?.input.json, strict: true },
      {
        name: 'transfer_to_billing',
        description: 'Hand the conversation over to billing.',
        schema: { type: 'object', properties: {}, additionalProperties: false },
        kind: 'handoff',
      },
    ]);
    expect(stand.wire?.[0]).not.toHaveProperty('strict');
    expect([...stand.names].map(([name, { kind }]) => [name, kind])).toEqual([
      ['look', 'tool'],
      ['send', 'tool'],
      ['transfer_to_billing', 'handoff'],
    ]);
  });

  it('is made once for an agent and a list of guardrails', () => {
    const stand = standOf(agent, runGuards);
    expect(standOf(agent, runGuards)).toBe(stand);
    const other = standOf(agent, [...runGuards]);
    expect(other).not.toBe(stand);
    expect(other.runGuards).not.toBe(runGuards);
    expect(standOf(agent, other.runGuards)).toBe(other);
  });

  it('refuses a name that the run and the agent share', () => {
    expect(() => standOf(agent, [guardOf(guard('everywhere', ['input']))])).toThrow(expect.objectContaining({ code: 'NAME_TAKEN' }));
  });
});

describe('what is offered', () => {
  const tool = (name: string, enabled?: boolean | (() => unknown)) =>
    defineTool({ name, description: name, input: z.object({}), execute: () => name, enabled: enabled as boolean });

  it('has the tool to read on where an output may be put away, and its guardrails', () => {
    const store = { put: () => undefined, get: () => undefined };
    const spilling = defineTool({
      name: 'big',
      description: 'Big.',
      input: z.object({}),
      execute: () => '',
      project: spill({ maxChars: 10, store }),
    });
    const stand = standOf(
      specOf(defineAgent({ name: 'a', instructions: '', model, tools: [spilling], guardrails: [guard('all', ['toolInput'])] })),
      [],
    );
    expect(stand.wire?.map(({ name }) => name)).toEqual(['big', 'read_observation']);
    expect(names(guardsOfTool(stand, 'toolInput', 'read_observation'))).toEqual(['agent all']);
  });

  it('leaves out what is disabled, which keeps its guardrails', () => {
    const stand = standOf(
      specOf(
        defineAgent({
          name: 'a',
          instructions: '',
          model,
          tools: [tool('off', false), tool('on', true)],
          guardrails: [guard('all', ['toolInput'])],
        }),
      ),
      [],
    );
    expect(stand.wire?.map(({ name }) => name)).toEqual(['on']);
    expect([...stand.names.keys()]).toEqual(['on']);
    expect(names(guardsOfTool(stand, 'toolInput', 'off'))).toEqual(['agent all']);
  });

  it('is asked for in each turn where it depends on it', async () => {
    const enabled = vi.fn(({ turn }: { readonly turn: number }) => turn === 2);
    const target = defineAgent({ name: 'b', instructions: '', model });
    const agent = defineAgent({
      name: 'a',
      instructions: '',
      model,
      tools: [tool('off', false), tool('on'), tool('second', enabled as never), tool('truthy', () => 'yes')],
      handoffs: [handoff(target, { enabled: enabled as never })],
    });
    const { handle } = await enterRun(agent, { context: 'the context' });
    const stand = standNow(handle);
    expect(stand.wire).toBeUndefined();
    const offered = (turn: number) => {
      const { wire, names: byName } = offerTools(handle, stand, turn);
      expect(wire.map(({ name }) => name)).toEqual([...byName.keys()]);
      for (const [name, { spec }] of byName) expect(spec.name).toBe(name);
      return [...byName.keys()];
    };
    expect(offered(1)).toEqual(['on']);
    expect(offered(2)).toEqual(['on', 'second', 'transfer_to_b']);
    expect(enabled.mock.calls[0]).toEqual([{ context: 'the context', turn: 1 }]);
  });

  it('is the same in every turn where it does not', async () => {
    const { handle } = await enterRun(defineAgent({ name: 'a', instructions: '', model, tools: [look] }));
    const stand = standNow(handle);
    const offered = offerTools(handle, stand, 1);
    expect(offered.wire).toBe(stand.wire);
    expect(offered.names).toBe(stand.names);
  });

  it('depends on the turn where a tool alone does', () => {
    const agent = defineAgent({ name: 'a', instructions: '', model, tools: [tool('now', () => true)] });
    expect(standOf(specOf(agent), []).wire).toBeUndefined();
  });

  it('depends on the turn where a handoff alone does', () => {
    const target = defineAgent({ name: 'b', instructions: '', model });
    const agent = defineAgent({ name: 'a', instructions: '', model, handoffs: [handoff(target, { enabled: () => true })] });
    expect(standOf(specOf(agent), []).wire).toBeUndefined();
  });
});

describe('a handoff', () => {
  const described = (handoffs: readonly unknown[]) =>
    standOf(specOf(defineAgent({ name: 'a', instructions: '', model, handoffs: handoffs as never })), []).wire?.map(
      ({ description }) => description,
    );
  const billing = defineAgent({ name: 'billing', description: 'Refunds.', instructions: '', model });
  const plain = defineAgent({ name: 'plain', instructions: '', model });

  it('is described by its own words, else by its target', () => {
    expect(described([handoff(billing, { description: 'For money.' })])).toEqual(['For money.']);
    expect(described([handoff(billing, { description: '' })])).toEqual(['']);
    expect(described([billing, plain])).toEqual([
      'Hand the conversation over to billing: Refunds.',
      'Hand the conversation over to plain.',
    ]);
  });

  it('asks for the arguments that its author wants', () => {
    const input = z.object({ why: z.string() });
    const agent = specOf(defineAgent({ name: 'a', instructions: '', model, handoffs: [handoff(billing, { input })] }));
    expect(standOf(agent, []).wire?.[0]?.schema).toEqual(agent.handoffs[0]?.input?.json);
  });
});

describe('the plan of a stay', () => {
  it('computes instructions once, with context and signal', async () => {
    const instructions = vi.fn(({ context }: { readonly context: unknown }) => `Hello ${String(context)}.`);
    const { handle } = await enterRun(defineAgent({ name: 'a', instructions, model }), { context: 'you' });
    const plan = await planOf(handle);
    expect(plan.instructions).toBe('Hello you.');
    expect(plan.stand).toBe(standNow(handle));
    expect(planOf(handle)).toBe(plan);
    expect(handle.plan).toBe(plan);
    expect(instructions.mock.calls).toEqual([[{ context: 'you', signal: handle.signal }]]);
  });

  it('takes instructions that are a text, or come later', async () => {
    const fixed = await enterRun(defineAgent({ name: 'a', instructions: 'Fixed.', model }));
    expect((await planOf(fixed.handle)).instructions).toBe('Fixed.');
    const late = await enterRun(defineAgent({ name: 'a', instructions: async () => 'Late.', model }));
    expect((await planOf(late.handle)).instructions).toBe('Late.');
  });

  it('rejects with what instructions throw, now or later, and for what is no text', async () => {
    const planned = async (instructions: () => unknown) =>
      planOf((await enterRun(defineAgent({ name: 'a', instructions: instructions as never, model }))).handle);
    const error = new Error('no');
    await expect(
      planned(() => {
        throw error;
      }),
    ).rejects.toBe(error);
    await expect(planned(() => Promise.reject(error))).rejects.toBe(error);
    const noText = { code: 'CONFIG_INVALID', message: 'The instructions of agent a gave a number. Return a string.' };
    await expect(planned(() => 5)).rejects.toMatchObject(noText);
    await expect(planned(async () => 5)).rejects.toMatchObject(noText);
  });

  it('waits for instructions no longer than the run goes on', async () => {
    const { handle } = await enterRun(defineAgent({ name: 'a', instructions: () => new Promise<string>(() => undefined), model }));
    const plan = planOf(handle);
    handle.abort({ kind: 'halt' });
    expect((await plan).instructions).toBe('');
  });

  it('has the stand itself where no handoff is by name', async () => {
    const b = defineAgent({ name: 'b', instructions: '', model });
    const { handle } = await enterRun(defineAgent({ name: 'a', instructions: '', model, tools: [look], handoffs: [b] }));
    expect((await planOf(handle)).stand).toBe(standNow(handle));
  });

  it('is made anew for another agent', async () => {
    const b = defineAgent({ name: 'b', instructions: 'Of b.', model });
    const { handle } = await enterRun(defineAgent({ name: 'a', instructions: 'Of a.', model, handoffs: [b] }));
    await planOf(handle);
    handle.state.agent = 'b';
    expect((await planOf(handle)).instructions).toBe('Of b.');
  });

  it('describes handoffs by name as those who bear the name, and leaves others as they are', async () => {
    const child = defineAgent({
      name: 'child',
      instructions: '',
      model,
      handoffs: ['a', handoff('a', { name: 'back', description: 'Back.' })],
    });
    const agent = defineAgent({
      name: 'a',
      description: 'The first.',
      instructions: '',
      model,
      tools: [look],
      handoffs: [child, handoff('child', { name: 'again', enabled: () => true })],
    });
    const { handle } = await enterRun(agent);
    const { stand } = await planOf(handle);
    const words = (entries: typeof stand.tools) => entries.map(({ wire }) => [wire.name, wire.description]);
    expect(words(stand.tools)).toEqual([
      ['look', 'Looks.'],
      ['transfer_to_child', 'Hand the conversation over to child.'],
      ['again', 'Hand the conversation over to child.'],
    ]);
    expect(stand.wire).toBeUndefined();
    expect(stand.tools.slice(0, 2)).toEqual(standNow(handle).tools.slice(0, 2));
    expect([0, 1].map((index) => stand.tools[index] === standNow(handle).tools[index])).toEqual([true, true]);
    handle.state.agent = 'child';
    const second = await planOf(handle);
    expect(second.stand.wire?.map(({ name, description }) => [name, description])).toEqual([
      ['transfer_to_a', 'Hand the conversation over to a: The first.'],
      ['back', 'Back.'],
    ]);
    expect(standNow(handle).wire?.[0]?.description).toBe('Hand the conversation over to a.');
  });
});

describe('the manifest of a stay', () => {
  const guarded = defineAgent({
    name: 'guarded',
    instructions: '',
    model,
    guardrails: [guard('in', ['input']), guard('over', ['handoff', 'output']), guard('out', ['output'])],
  });
  const silent = defineAgent({ name: 'silent', instructions: '', model, guardrails: [guard('out', ['output'])], handoffs: [guarded] });
  const manifest = (agent: Agent<never>) => {
    const spec = specOf(agent);
    const stand = standOf(spec, []);
    return { stand, manifest: manifestOf(stand, resolveAgents(spec)) };
  };

  it('says what the targets of handoffs have on the way to them', () => {
    const given = manifest(defineAgent({ name: 'a', instructions: '', model, handoffs: [silent, guarded] }) as never);
    expect(given.manifest).toEqual({
      ...given.stand.manifest,
      targets: { guarded: [entry('in', ['input']), entry('over', ['handoff', 'output'])] },
    });
    expect(Object.isFrozen(given.manifest) && Object.isFrozen(given.manifest.targets)).toBe(true);
  });

  it('says so of targets by name', () => {
    const agent = defineAgent({ name: 'a', instructions: '', model, handoffs: [silent, handoff('guarded', { name: 'there' })] });
    expect(Object.keys(manifest(agent as never).manifest.targets ?? {})).toEqual(['guarded']);
  });

  it('is that of the stand where no target has any, or nobody bears the name', () => {
    const given = manifest(defineAgent({ name: 'a', instructions: '', model, handoffs: [silent] }) as never);
    expect(given.manifest).toBe(given.stand.manifest);
    const named = standOf(specOf(defineAgent({ name: 'b', instructions: '', model, handoffs: ['nobody'] })), []);
    expect(manifestOf(named, new Map())).toBe(named.manifest);
  });
});

it('there is no stand for an active agent that cannot be reached', async () => {
  const { handle } = await enterRun();
  handle.state.agent = 'gone';
  expect(() => standNow(handle)).toThrow(
    expect.objectContaining({
      code: 'RESUME_MISMATCH',
      message: "The log's active agent gone is not reachable from the agent given. Give an agent that reaches it.",
    }),
  );
});

describe('the model of a turn', () => {
  const other: Model = { ...modelOf(), id: 'other' };

  it("is the run's, else the agent's", async () => {
    const agent = specOf(defineAgent({ name: 'a', instructions: '', model }));
    expect(modelOfTurn((await enterRun()).handle, agent, 1)).toBe(model);
    expect(modelOfTurn((await enterRun(undefined, { model: other })).handle, agent, 1)).toBe(other);
  });

  it('is asked for in each turn where it is a function', async () => {
    const choose = vi.fn(() => other);
    const agent = specOf(defineAgent({ name: 'a', instructions: '', model: choose }));
    const { handle } = await enterRun(undefined, { context: 'c' });
    expect(modelOfTurn(handle, agent, 3)).toBe(other);
    expect(choose.mock.calls).toEqual([[{ context: 'c', turn: 3 }]]);
  });

  it('is refused where it is none, or runs tools that the agent does not list', async () => {
    const { handle } = await enterRun();
    const choosing = (given: unknown, more: object = {}) =>
      specOf(defineAgent({ name: 'a', instructions: '', model: (() => given) as never, ...more }));
    expect(() => modelOfTurn(handle, choosing({ id: 'x' }), 1)).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining('Agent a has an object as `model`') as string }),
    );
    const searching: Model = { ...other, providerTools: ['search'] };
    expect(() => modelOfTurn(handle, choosing(searching), 1)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
    const listed = choosing(searching, { providerTools: [{ name: 'search', unguarded: true }] });
    expect(modelOfTurn(handle, listed, 1)).toBe(searching);
  });

  it('that the agent was made with is not looked at again', async () => {
    const changing = { ...modelOf() };
    const agent = specOf(defineAgent({ name: 'a', instructions: '', model: changing }));
    (changing as { id: unknown }).id = 5;
    expect(modelOfTurn((await enterRun()).handle, agent, 1)).toBe(changing);
  });
});

describe('the settings of a turn', () => {
  it("are the agent's, and over them the run's", async () => {
    const agent = specOf(defineAgent({ name: 'a', instructions: '', model, settings: { temperature: 0, topP: 0.5 } }));
    expect(settingsOf((await enterRun()).handle, agent, 1)).toBe(agent.settings);
    const { handle } = await enterRun(undefined, { settings: { topP: 0.9 } });
    expect(settingsOf(handle, agent, 1)).toEqual({ temperature: 0, topP: 0.9 });
  });

  it('are asked for in each turn where they are a function, and checked', async () => {
    const choose = vi.fn(() => ({ temperature: 1 }));
    const { handle } = await enterRun(undefined, { context: 'c' });
    expect(settingsOf(handle, specOf(defineAgent({ name: 'a', instructions: '', model, settings: choose })), 2)).toEqual({
      temperature: 1,
    });
    expect(choose.mock.calls).toEqual([[{ context: 'c', turn: 2 }]]);
    const wrong = specOf(defineAgent({ name: 'a', instructions: '', model, settings: (() => ({ temperature: 'hot' })) as never }));
    expect(() => settingsOf(handle, wrong, 1)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
  });
});
