import { execFile } from 'node:child_process';
import { cp, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { defineAgent, defineGuardrail, defineTool, deny, run } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { serve } from './provider-server.js';
import { ends, ofType, sound } from './sound.js';

const require = createRequire(import.meta.url);
const core = require.resolve('@guardloop/core');

describe('K26', () => {
  describe('S220: errors are known across copies of the package', () => {
    const inNode = async (script: string): Promise<unknown> => {
      const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=commonjs', '-e', script]);
      return JSON.parse(stdout);
    };
    const url = JSON.stringify(pathToFileURL(core).href);
    /** The package once more, as another dependency would bring it. */
    const secondCopy = async (): Promise<string> => {
      const home = dirname(dirname(core));
      const place = await mkdtemp(join(tmpdir(), 'core-'));
      onTestFinished(() => rm(place, { recursive: true }));
      await cp(dirname(core), join(place, 'dist'), { recursive: true });
      await cp(join(home, 'package.json'), join(place, 'package.json'));
      await symlink(join(home, 'node_modules'), join(place, 'node_modules'));
      return join(place, 'dist', basename(core));
    };

    it('S220: by their brand, where instanceof is not; an adapter with another copy fails as itself', async () => {
      const copied = JSON.stringify(pathToFileURL(await secondCopy()).href);
      const seen = await inNode(`
        Promise.all([import(${url}), import(${copied})]).then(async ([own, copy]) => {
          const foreign = new copy.GuardloopError('MODEL_FAILED', 'Lost.', { isRetryable: true });
          const others = [new Error('x'), { code: 'MODEL_FAILED' }, null, undefined, 'x', { name: 'GuardloopError' }];
          const model = { id: 'm', provider: 'test', async *stream() { throw foreign; } };
          const result = await own.run(own.defineAgent({ name: 'a', instructions: '', model }), 'go');
          console.log(JSON.stringify({
            isSameClass: own.GuardloopError === copy.GuardloopError,
            isInstance: foreign instanceof own.GuardloopError,
            isKnown: [own.GuardloopError.is(foreign), copy.GuardloopError.is(new own.GuardloopError('INTERNAL', 'x'))],
            others: others.filter((other) => own.GuardloopError.is(other)),
            result: [result.status, result.error.code, result.error.message, result.error.isRetryable, own.GuardloopError.is(result.error)],
          }));
        });`);
      expect(seen).toEqual({
        isSameClass: false,
        isInstance: false,
        isKnown: [true, true],
        others: [],
        result: ['failed', 'MODEL_FAILED', 'Lost.', true, true],
      });
    });

    it('S219: what one copy has defined another runs at once, also where its schemas are still being converted', async () => {
      const copied = JSON.stringify(pathToFileURL(await secondCopy()).href);
      const mini = JSON.stringify(pathToFileURL(createRequire(core).resolve('zod/mini')).href);
      const seen = await inNode(`
        Promise.all([import(${url}), import(${copied}), import(${mini})]).then(async ([own, copy, z]) => {
          const calls = [{ type: 'tool.call', index: 0, call: { id: 'c1', name: 'look', input: { what: 'x' } } }];
          const texts = [{ type: 'text.delta', text: '{"found":"x"}' }];
          const model = { id: 'm', provider: 'test', async *stream({ turn }) {
            yield* turn === 1 ? calls : texts;
            yield { type: 'end', stopReason: turn === 1 ? 'tool_calls' : 'stop', usage: { requests: 1 } };
          } };
          const look = copy.defineTool({ name: 'look', description: 'Looks.', input: z.object({ what: z.string() }), execute: ({ what }) => what });
          const output = z.object({ found: z.string() });
          const agent = copy.defineAgent({ name: 'a', instructions: '', model, tools: [look], output });
          const result = await own.run(agent, 'go');
          const error = result.status === 'failed' ? result.error.message : undefined;
          console.log(JSON.stringify({ status: result.status, output: result.output, error }));
        }).catch((thrown) => console.log(JSON.stringify(String(thrown))));`);
      expect(seen).toEqual({ status: 'completed', output: { found: 'x' } });
    });

    it('S220: tools, guardrails, policies, agents and handoffs that one copy has defined are those of another', async () => {
      const copied = JSON.stringify(pathToFileURL(await secondCopy()).href);
      const seen = await inNode(`
        Promise.all([import(${url}), import(${copied})]).then(async ([own, copy]) => {
          const modelOf = (turns) => ({ id: 'm', provider: 'test', async *stream({ turn, agent }) {
            const calls = agent === 'a' ? (turns[turn - 1] ?? []) : [];
            for (const [index, [name, input]] of calls.entries()) yield { type: 'tool.call', index, call: { id: 'c' + turn + index, name, input } };
            if (calls.length === 0) yield { type: 'text.delta', text: 'done by ' + agent };
            yield { type: 'end', stopReason: calls.length === 0 ? 'stop' : 'tool_calls', usage: { requests: 1 } };
          } });
          const input = { type: 'object', properties: { what: { type: 'string' } } };
          const look = copy.defineTool({ name: 'look', description: 'L.', input, flow: { effect: 'read' }, execute: ({ what }) => {
            if (what === 'gone') throw copy.toolError('There is none.', { errorClass: 'not_found' });
            return what;
          } });
          const noSecrets = copy.defineGuardrail({ name: 'no-secrets', on: ['toolOutput'],
            check: ({ content }) => (content.includes('secret') ? copy.deny('not for you') : copy.allow()) });
          const policy = copy.definePolicy({ name: 'p', rules: [{ tool: look, when: ({ what }) => what === 'never', then: 'deny' }], otherwise: 'allow' });
          const helper = copy.defineAgent({ name: 'helper', description: 'H.', instructions: '', model: modelOf([]) });
          const ask = copy.asTool(helper, { name: 'ask', description: 'A.' });
          const over = own.defineTool({ name: 'over', description: 'O.', input, execute: () => copy.handoff(helper, { brief: 'Go on.' }) });
          const store = copy.memorySession();
          const statuses = async (turns, more = {}) => {
            const result = await own.run(own.defineAgent({ name: 'a', instructions: '', model: modelOf(turns), guardrails: [noSecrets], ...more }), 'go', { session: { store, id: JSON.stringify(turns) } });
            const ended = result.events.filter(({ type }) => type === 'tool.end').sort((left, right) => left.callId.localeCompare(right.callId));
            const ends = ended.map(({ status, errorClass }) => errorClass ?? status);
            return [result.status, result.status === 'completed' ? result.text : String(result.error?.message), ends];
          };
          const lookAt = (what) => ['look', { what }];
          console.log(JSON.stringify([
            await statuses([[lookAt('x'), lookAt('gone'), lookAt('never'), lookAt('secret')]], { tools: [look], guardrails: [noSecrets, policy] }),
            await statuses([[['ask', { input: 'x' }]]], { tools: [ask] }),
            await statuses([[['over', {}]]], { tools: [over] }),
            await statuses([[['transfer_to_helper', {}]]], { handoffs: [helper] }),
            await statuses([[['to_helper', {}]]], { handoffs: [copy.handoff(helper, { name: 'to_helper' })] }),
          ]));
        }).catch((thrown) => console.log(JSON.stringify(String(thrown))));`);
      expect(seen).toEqual([
        ['completed', 'done by a', ['ok', 'not_found', 'denied', 'denied']],
        ['completed', 'done by a', ['ok']],
        ['completed', 'done by helper', ['ok']],
        ['completed', 'done by helper', []],
        ['completed', 'done by helper', []],
      ]);
    });

    it('S220: a program of either module system can load it, and sees the same class', async () => {
      const seen = await inNode(`
        const required = require(${JSON.stringify(core)});
        import(${url}).then((imported) => {
          const error = new required.GuardloopError('INTERNAL', 'x');
          console.log(JSON.stringify([imported.GuardloopError === required.GuardloopError, imported.GuardloopError.is(error), error.name]));
        });`);
      expect(seen).toEqual([true, true, 'GuardloopError']);
    });

    it('S220: nothing that it ships imports a module of Node', async () => {
      const dist = new URL('.', pathToFileURL(core));
      const files = (await readdir(dist, { recursive: true })).filter((name) => name.endsWith('.js') && !name.includes('.test.'));
      expect(files.length).toBeGreaterThan(0);
      for (const name of files) {
        const text = await readFile(new URL(name, dist), 'utf8');
        expect(text, name).not.toMatch(/(?:from|import|require)\s*\(?\s*['"]node:/);
      }
    });
  });

  describe('S223: what is falsy is a value', () => {
    it.each(['chat', 'claude'] as const)(
      'S223: in what is sent: temperature 0, no system text, no tools, one attempt (%s)',
      async (dialect) => {
        const server = await serve({ status: 500, steps: ['{}'] });
        const agent = defineAgent({
          name: 'a',
          instructions: '',
          model: server[dialect]({ maxRetries: 0 }),
          settings: { temperature: 0 },
          tools: [],
        });
        expect((await run(agent, 'go')).status).toBe('failed');
        expect(server.bodies).toHaveLength(1);
        const [body] = server.bodies;
        if (dialect === 'chat') {
          expect(body).toMatchObject({ temperature: 0 });
          expect(((body?.messages ?? []) as { role: string }[]).map(({ role }) => role)).toEqual(['user']);
        } else expect(body).not.toHaveProperty('system');
        for (const key of ['tools', 'tool_choice', 'parallel_tool_calls']) expect(body).not.toHaveProperty(key);
        expect(server.problems).toEqual([]);
      },
    );

    it('S223: in limits: zero is a bound or an error, never no bound', async () => {
      const f = defineTool({ name: 'f', description: 'F.', input: z.object({}), execute: () => 'ok' });
      const b = defineAgent({ name: 'b', instructions: '', model: scriptedModel([say('b')]) });
      const model = scriptedModel([[callTool('f'), callTool('transfer_to_b')], say('ok')]);
      const agent = defineAgent({ name: 'a', instructions: '', model, tools: [f], handoffs: [b] });
      for (const name of ['turns', 'tokens', 'cost', 'ms', 'repeats'] as const)
        await expect(run(agent, 'go', { limits: { [name]: 0 } })).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
      const calls = await sound(run(agent, 'go', { limits: { toolCalls: 0 } }));
      expect(ends(calls.events)[0]).toBe('1.0 aborted');
      const handoffs = await sound(run(agent, 'go', { limits: { handoffs: 0 } }));
      expect(ofType(handoffs.events, 'handoff')).toEqual([]);
      const refuse = defineGuardrail({ name: 'g', on: ['output'], check: () => deny('no') });
      const repairs = await sound(
        run(defineAgent({ name: 'a', instructions: '', model: scriptedModel([say('x')]), guardrails: [refuse] }), 'go', {
          limits: { repairs: 0 },
        }),
      );
      expect(repairs).toMatchObject({ status: 'blocked', usage: { requests: 1 } });
    });

    it('S223: in options: empty lists and false are taken as such, and what is no option is refused', async () => {
      const agent = defineAgent({ name: 'a', instructions: '', model: scriptedModel([say('ok')]) });
      const result = await sound(run(agent, 'go', { guardrails: [], observers: [], history: [], strict: false }));
      expect(result.status).toBe('completed');
      for (const options of [
        { concurrency: 0 },
        { runId: '' },
        { session: { store: {}, id: 's' } },
        { release: '' },
        { signal: 0 },
        { maxTurns: 0 },
      ])
        await expect(run(agent, 'go', options as never)).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    });
  });
});
