// Guardloop in the harness that measures agent frameworks side by side: copied into its `adapters` folder, it finds `lib/script.mjs` there.
const { parseScript, step, token, sleep, TOOL } = await import(new URL('../lib/script.mjs', import.meta.url).href);

export const meta = {
  name: 'guardloop',
  peer: 'guardloop',
  pkgs: ['@guardloop/core'],
  modes: ['inproc', 'http'],
  guards: ['input', 'output', 'tool'],
  sessions: ['memory'],
};

const usage = { requests: 1, inputTokens: 10, outputTokens: 10 };

/** The script's model in this process. Finds its place by the turn alone. */
function scriptModel(pulled) {
  return {
    id: 'mock',
    provider: 'bench',
    async *stream({ messages, turn }) {
      const user = messages.findLast(({ role }) => role === 'user');
      const script = parseScript(user.parts[0].text);
      const { calls } = step(script, turn - 1);
      if (script.lat) await sleep(script.lat);
      if (calls) {
        for (const { id, name, args } of calls) yield { type: 'tool.call', call: { providerId: id, name, input: JSON.parse(args) } };
        yield { type: 'end', stopReason: 'tools', usage };
        return;
      }
      const text = token(script);
      for (let count = 0; count < script.t; count += 1) {
        pulled.n += 1;
        yield { type: 'text.delta', text };
      }
      yield { type: 'end', stopReason: 'stop', usage };
    },
  };
}

export async function create({ imp, mode, baseURL, tool, guards = {}, pulled, maxTurns }) {
  const { allow, defineAgent, defineGuardrail, defineTool, memorySession, run, stream } = await imp('@guardloop/core');
  const { z } = await imp('zod');

  let model = scriptModel(pulled);
  if (mode === 'http') {
    const { openai } = await imp('@guardloop/openai');
    const { default: OpenAI } = await imp('openai');
    model = openai('mock', { client: new OpenAI({ baseURL: `${baseURL}/v1`, apiKey: 'k', maxRetries: 0 }) });
  }

  const passing = (check) => async (subject) => {
    await check(subject);
    return allow();
  };
  const guardrails = [
    guards.input &&
      defineGuardrail({ name: 'input', on: ['input'], beside: 'model', check: passing(({ content }) => guards.input(content)) }),
    guards.output && defineGuardrail({ name: 'output', on: ['output'], check: passing(({ content }) => guards.output(content)) }),
    guards.tool && defineGuardrail({ name: 'tool', on: ['toolInput'], check: passing(({ input }) => guards.tool(input)) }),
  ].filter(Boolean);

  const work = defineTool({
    name: TOOL.name,
    description: TOOL.description,
    input: z.object({ i: z.number(), j: z.number() }),
    execute: (input) => tool(input),
  });
  const agent = defineAgent({ name: 'bench', instructions: 'You are a bench agent.', model, tools: [work], guardrails });
  const limits = { turns: maxTurns };

  const textOf = (result) => {
    if (result.status === 'completed') return result.output;
    throw result.status === 'failed' ? result.error : new Error(`The run ended ${result.status}.`);
  };
  const store = memorySession();
  return {
    run: async (user) => textOf(await run(agent, user, { limits })),
    stream: async (user, onDelta) => {
      const watched = stream(agent, user, { limits });
      for await (const event of watched) if (event.type === 'text.delta') await onDelta(event.text);
      return textOf(await watched.result);
    },
    sessionRun: async (_kind, id, user) => textOf(await run(agent, user, { limits, session: { store, id } })),
  };
}
