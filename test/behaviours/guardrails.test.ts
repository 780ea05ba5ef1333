import type { Guardrail, Message, Surface } from '@guardloop/core';
import { allow, defineAgent, defineGuardrail, defineTool, deny, halt, memorySession, rewrite } from '@guardloop/core';
import { callTool, say } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { resume, run, scriptedModel, stream } from './audited.js';
import {
  callEnds,
  eventsOf,
  gate,
  observationsIn,
  reread,
  resultsIn,
  sleep,
  textOf,
  untilAborted,
  verdictLines,
  watch,
} from './reading.js';

/** A tool that counts its runs. */
function counter() {
  const runs: string[] = [];
  const note = defineTool({
    name: 'note',
    description: 'Notes a word.',
    input: z.object({ word: z.string() }),
    execute: ({ word }) => {
      runs.push(word);
      return `noted ${word}`;
    },
  });
  return { runs, note };
}
const check = (name: string, on: readonly Surface[], answer: Parameters<typeof defineGuardrail<Surface>>[0]['check']): Guardrail<unknown> =>
  defineGuardrail({ name, on, check: answer ?? (() => allow()) });

describe('who is asked, and when', () => {
  it('B14: Run-level and agent-level guardrails both count, run-level first', async () => {
    const asked: string[] = [];
    const mark = (name: string) => ({
      name,
      rewrite: ({ surface, content }: { readonly surface: Surface; readonly content: string }) => {
        asked.push(`${name} ${surface}`);
        return surface === 'toolInput' ? allow() : rewrite(`${content} ${name}`, 'marked');
      },
    });
    const guarded = defineTool({
      name: 'note',
      description: 'Notes.',
      input: z.object({ word: z.string() }),
      guardrails: [defineGuardrail({ ...mark('of-tool'), on: ['toolInput', 'toolOutput'] })],
      execute: () => 'noted',
    });
    const model = scriptedModel([callTool('note', { word: 'a' }), say('Done')]);
    const on = ['input', 'toolInput', 'toolOutput', 'output'] as const;
    const agent = defineAgent({
      name: 'a',
      instructions: '',
      model,
      tools: [guarded],
      guardrails: [defineGuardrail({ ...mark('of-agent'), on })],
    });
    const result = await run(agent, 'hi', { guardrails: [defineGuardrail({ ...mark('of-run'), on })] });
    expect(asked).toEqual([
      'of-run input',
      'of-agent input',
      'of-run toolInput',
      'of-agent toolInput',
      'of-tool toolInput',
      'of-run toolOutput',
      'of-agent toolOutput',
      'of-tool toolOutput',
      'of-run output',
      'of-agent output',
    ]);
    expect(result).toMatchObject({ status: 'completed', output: 'Done of-run of-agent' });
    expect(result.messages.map(textOf)).toEqual(['hi of-run of-agent', '', 'noted of-run of-agent of-tool', 'Done of-run of-agent']);
  });

  it('B14: A refusal of either level counts, and of two equal ones the run’s is named', async () => {
    const model = scriptedModel([say('Done.')]);
    const no = (name: string) => check(name, ['input'], () => deny(`${name} says no`));
    const guarded = defineAgent({ name: 'a', instructions: '', model, guardrails: [no('of-agent')] });
    const bare = defineAgent({ name: 'a', instructions: '', model });
    expect(await run(guarded, 'hi', { guardrails: [no('of-run')] })).toMatchObject({ status: 'blocked', by: 'of-run' });
    expect(await run(guarded, 'hi')).toMatchObject({ status: 'blocked', by: 'of-agent' });
    expect(await run(bare, 'hi', { guardrails: [no('of-run')] })).toMatchObject({ status: 'blocked', by: 'of-run' });
  });

  it('B15: A blocking input guardrail ends before the model is called', async () => {
    const model = scriptedModel([say('Done.')]);
    const slow = check('slow', ['input'], async () => {
      await sleep(10);
      expect(model.requests).toEqual([]);
      return deny('not today');
    });
    const result = await run(defineAgent({ name: 'a', instructions: '', model, guardrails: [slow] }), 'hi');
    expect(result).toMatchObject({ status: 'blocked', surface: 'input', by: 'slow', reason: 'not today' });
    expect(model.requests).toEqual([]);
    expect(eventsOf(result.log, 'model.start', 'input.accept')).toEqual([]);
  });

  it('B16: Input is guarded once for each agent’s view, not once a turn', async () => {
    const entries: string[] = [];
    const ofRun = check('of-run', ['input'], ({ content }) => {
      entries.push(content);
      return allow();
    });
    const { note } = counter();
    const model = scriptedModel([
      callTool('note', { word: 'a' }),
      callTool('note', { word: 'b' }),
      callTool('transfer_to_b'),
      callTool('note', { word: 'c' }),
      say('Done.'),
    ]);
    const b = defineAgent({ name: 'b', instructions: '', model, tools: [note] });
    const agent = defineAgent({ name: 'a', instructions: '', model, tools: [note], handoffs: [b] });
    const session = { store: memorySession(), id: 's' };
    await run(agent, 'hi', { session, guardrails: [ofRun] });
    expect(entries).toEqual(['hi', 'Handed off from a.']);
    await run(agent, 'again', { session, guardrails: [ofRun], model: scriptedModel([say('Yes?')]) });
    expect(entries).toEqual(['hi', 'Handed off from a.', 'again']);
  });

  it('B16: A guardrail that is new to a session sees its history once, and those that stood before see only what is new', async () => {
    const entries: string[] = [];
    const listen = (name: string) =>
      defineGuardrail({
        name,
        on: ['input'],
        check: ({ items }) => {
          entries.push(`${name}: ${items.map(({ text }) => text).join()}`);
          return allow();
        },
      });
    const session = { store: memorySession(), id: 's' };
    const agent = (...names: readonly string[]) =>
      defineAgent({ name: 'a', instructions: '', model: scriptedModel([say('Yes?')]), guardrails: names.map(listen) });
    await run(agent('old'), 'one', { session });
    await run(agent('old', 'new'), 'two', { session });
    await run(agent('old', 'new'), 'three', { session });
    expect(entries).toEqual(['old: one', 'old: two', 'new: one,Yes?,two', 'old: three', 'new: three']);
  });

  it('B18: A halt aborts its siblings, and a deny waits for them, before the outcome is seen', async () => {
    const order: string[] = [];
    const hangs = check('hangs', ['input'], (_, { signal }) =>
      untilAborted(signal).catch(() => {
        order.push('aborted');
        return allow();
      }),
    );
    const stop = check('stop', ['input'], async () => {
      await sleep(5);
      return halt('enough');
    });
    const agent = defineAgent({ name: 'a', instructions: '', model: scriptedModel([say('Done.')]), guardrails: [hangs, stop] });
    const halted = await run(agent, 'hi');
    order.push('seen');
    expect(halted).toMatchObject({ status: 'blocked', by: 'stop' });
    expect(order).toEqual(['aborted', 'seen']);

    const late = check('late', ['input'], async () => {
      await sleep(20);
      order.push('late');
      return allow();
    });
    const no = check('no', ['input'], () => deny('no'));
    const both = defineAgent({ name: 'a', instructions: '', model: scriptedModel([say('Done.')]), guardrails: [no, late] });
    const denied = await run(both, 'hi');
    order.push('seen');
    expect(order).toEqual(['aborted', 'seen', 'late', 'seen']);
    expect(verdictLines(denied.log)).toEqual(['no input deny', 'late input allow']);
  });

  it('B27: Guardrails run before a person is asked, and again after', async () => {
    const runs: string[] = [];
    const approved = defineTool({
      name: 'note',
      description: 'Notes.',
      input: z.object({ word: z.string() }),
      approval: true,
      execute: ({ word }) => {
        runs.push(word);
        return 'noted';
      },
    });
    let isOpen = true;
    const gatekeeper = check('gatekeeper', ['toolInput'], ({ content }) => (content.includes('bad') || !isOpen ? deny('closed') : allow()));
    const script = [[callTool('note', { word: 'bad' }), callTool('note', { word: 'good' })], say('Done.')] as const;
    const agent = defineAgent({ name: 'a', instructions: '', model: scriptedModel(script), tools: [approved], guardrails: [gatekeeper] });
    const asked = await run(agent, 'hi', { runId: 'r' });
    expect(asked).toMatchObject({ status: 'interrupted', approvals: [{ id: 'r/p1', input: { word: 'good' } }] });
    expect(asked.status === 'interrupted' && asked.approvals).toHaveLength(1);
    expect(verdictLines(asked.log)).toEqual(['gatekeeper toolInput deny', 'gatekeeper toolInput allow']);
    const log = reread(asked.log);

    const passed = await resume(agent, log, { decisions: { 'r/p1': 'approve' } });
    expect(verdictLines(passed.log)).toEqual(['gatekeeper toolInput deny', 'gatekeeper toolInput allow', 'gatekeeper toolInput allow']);
    expect(runs).toEqual(['good']);

    isOpen = false;
    const refused = await resume(agent, log, { decisions: { 'r/p1': 'approve' } });
    expect(callEnds(refused.log)).toEqual(['note denied', 'note denied']);
    expect(runs).toEqual(['good']);
  });
});

describe('what a refusal says and leaves', () => {
  it('B17: A refusal names the guardrail and its reason, and keeps what was already done', async () => {
    const { runs, note } = counter();
    const model = scriptedModel([[say('I note it.'), callTool('note', { word: 'a' })], say('The end.')]);
    const stop = check('no-endings', ['output'], ({ content }) => (content.includes('end') ? halt('endings are sad') : allow()));
    const result = await run(defineAgent({ name: 'a', instructions: '', model, tools: [note], guardrails: [stop] }), 'hi');
    expect(result).toMatchObject({ status: 'blocked', surface: 'output', by: 'no-endings', reason: 'endings are sad' });
    expect(result).not.toHaveProperty('failed');
    expect(runs).toEqual(['a']);
    expect(result.messages.map(textOf)).toEqual(['hi', 'I note it.', 'noted a']);
    expect(result.usage.requests).toBe(2);
  });

  it('B19: A guardrail that throws is told apart from one that refuses', async () => {
    const model = scriptedModel([say('Done.')]);
    const throws = check('broken', ['input'], () => {
      throw new Error('the secret password is wrong');
    });
    const failed = await run(defineAgent({ name: 'a', instructions: '', model, guardrails: [throws] }), 'hi');
    expect(failed).toMatchObject({ status: 'blocked', by: 'broken', reason: 'guardrail broken failed', failed: true });
    expect(JSON.stringify(failed)).not.toContain('password');
    expect(eventsOf(failed.log, 'guard.verdict')).toMatchObject([{ action: 'deny', failed: true }]);
    const refuses = check('strict', ['input'], () => deny('no'));
    const refused = await run(defineAgent({ name: 'a', instructions: '', model, guardrails: [refuses] }), 'hi');
    expect(refused).toMatchObject({ status: 'blocked', by: 'strict', reason: 'no' });
    expect(refused).not.toHaveProperty('failed');
    expect(eventsOf(refused.log, 'guard.verdict')[0]).not.toHaveProperty('failed');
  });

  it('B19: What a failed guardrail counts as is its author’s choice', async () => {
    const model = scriptedModel([say('Done.')]);
    const broken = (onError: 'deny' | 'halt' | 'allow') =>
      defineGuardrail({
        name: 'broken',
        on: ['input'],
        onError,
        check: () => {
          throw new Error('no');
        },
      });
    const outcome = async (onError: 'deny' | 'halt' | 'allow') =>
      (await run(defineAgent({ name: 'a', instructions: '', model, guardrails: [broken(onError)] }), 'hi')).status;
    expect([await outcome('deny'), await outcome('halt'), await outcome('allow')]).toEqual(['blocked', 'blocked', 'completed']);
  });

  it('B20: A refusal beside an unparsable answer is still the refusal', async () => {
    for (const verdict of [deny('no nonsense'), halt('no nonsense')]) {
      const model = scriptedModel([say('This is no JSON.'), say('{"ok":true}')]);
      const agent = defineAgent({
        name: 'a',
        instructions: '',
        model,
        output: z.object({ ok: z.boolean() }),
        guardrails: [check('no-nonsense', ['output'], ({ content }) => (content.startsWith('{') ? allow() : verdict))],
      });
      expect(await run(agent, 'hi', { limits: { repairs: 0 } })).toMatchObject({
        status: 'blocked',
        surface: 'output',
        by: 'no-nonsense',
        reason: 'no nonsense',
      });
    }
  });

  it('B21: Output guardrails see the run so far', async () => {
    let seen: readonly Message[] = [];
    const { note } = counter();
    const look = check('look', ['output'], (_, { messages, agent, run: id }) => {
      seen = [...messages];
      expect([agent, id]).toEqual(['a', 'r']);
      return allow();
    });
    const model = scriptedModel([callTool('note', { word: 'a' }), say('Done.')]);
    await run(defineAgent({ name: 'a', instructions: '', model, tools: [note], guardrails: [look] }), 'hi', { runId: 'r' });
    expect(seen.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);
    expect(seen.map(textOf)).toEqual(['hi', '', 'noted a']);
  });

  it('B22: After an output refusal the text is hidden and unrecorded, and executed pairs stay', async () => {
    const { note } = counter();
    const model = scriptedModel([callTool('note', { word: 'a' }), say('SECRET one'), say('SECRET two')], { chunks: 3, native: true });
    const noSecrets = check('no-secrets', ['output'], ({ content }) => (content.includes('SECRET') ? deny('a secret') : allow()));
    const agent = defineAgent({ name: 'a', instructions: '', model, tools: [note], guardrails: [noSecrets] });
    const store = memorySession();
    const session = { store, id: 's' };
    const { result, events } = await watch(stream(agent, 'hi', { session }));
    expect(result).toMatchObject({ status: 'blocked', by: 'no-secrets' });
    for (const place of [result, events, await store.load('s'), model.requests]) expect(JSON.stringify(place)).not.toContain('SECRET');
    expect(result.messages.map(textOf)).toEqual(['hi', '', 'noted a']);
    expect(eventsOf(result.log, 'model.end').map(({ status, chars }) => [status, chars])).toEqual([
      ['ok', undefined],
      ['refused', 10],
      ['refused', 10],
    ]);
    const next = scriptedModel([say('Fine.')]);
    await run(agent, 'And now?', { session, model: next });
    expect(next.requests[0]?.messages.map(textOf)).toEqual(['hi', '', 'noted a', 'And now?']);
  });

  it('B23: An output guardrail that crashed blocks the answer and says that it failed; resuming asks the model again', async () => {
    let isBroken = true;
    const crashes = check('crashes', ['output'], () => {
      if (isBroken) throw new Error('no connection');
      return allow();
    });
    const model = scriptedModel([say('The answer.'), say('Another answer.')]);
    const agent = defineAgent({ name: 'a', instructions: '', model, guardrails: [crashes] });
    const blocked = await run(agent, 'hi');
    expect(blocked).toMatchObject({ status: 'blocked', surface: 'output', by: 'crashes', failed: true });
    expect(JSON.stringify(blocked)).not.toContain('The answer.');
    expect(model.requests).toHaveLength(1);
    isBroken = false;
    expect(await resume(agent, reread(blocked.log))).toMatchObject({ status: 'completed', output: 'Another answer.' });
    expect(model.requests).toHaveLength(2);
    const refused = await run(
      defineAgent({ name: 'a', instructions: '', model, guardrails: [check('no', ['output'], () => halt('no'))] }),
      'hi',
    );
    expect(await resume(agent, reread(refused.log), { accept: 'changed' })).toMatchObject({ status: 'blocked', by: 'no' });
  });
});

describe('guardrails of tools', () => {
  it('B24: A denied tool input: the tool does not run, the reason is its result', async () => {
    const { runs, note } = counter();
    const model = scriptedModel([[callTool('note', { word: 'psst' }), callTool('note', { word: 'fine' })], say('Done.')]);
    const noHush = check('no-hush', ['toolInput'], ({ content }) =>
      content.includes('psst') ? deny('that word is not noted here') : allow(),
    );
    const result = await run(defineAgent({ name: 'a', instructions: '', model, tools: [note], guardrails: [noHush] }), 'hi');
    expect(runs).toEqual(['fine']);
    expect(observationsIn(model.requests[1]?.messages)).toEqual([
      { status: 'denied', error_class: 'denied', summary: 'that word is not noted here', retryable: false },
    ]);
    expect(resultsIn(model.requests[1]?.messages)[1]).toBe('noted fine');
    expect(JSON.stringify([result, model.requests])).not.toContain('psst');
    expect(eventsOf(result.log, 'model.end')[0]?.calls.map(({ input }) => input)).toEqual([{}, { word: 'fine' }]);
    expect(eventsOf(result.log, 'tool.start').map(({ callId }) => callId)).toEqual(['1.1']);
  });

  it('B25: A denied tool output: the result is replaced', async () => {
    const { runs, note } = counter();
    const model = scriptedModel([callTool('note', { word: 'hush' }), say('Done.')]);
    const noEcho = check('no-echo', ['toolOutput'], ({ content }) => (content === 'noted hush' ? deny('it repeats the word') : allow()));
    const result = await run(defineAgent({ name: 'a', instructions: '', model, tools: [note], guardrails: [noEcho] }), 'hi');
    expect(result).toMatchObject({ status: 'completed' });
    expect(runs).toEqual(['hush']);
    expect(observationsIn(model.requests[1]?.messages)).toEqual([
      {
        status: 'error',
        error_class: 'denied',
        summary: 'note ran; its result was withheld: it repeats the word',
        retryable: false,
      },
    ]);
    expect(JSON.stringify([result, model.requests])).not.toContain('noted hush');
  });

  it('B26: A halt in a tool guardrail ends the run with the log intact', async () => {
    for (const surface of ['toolInput', 'toolOutput'] as const) {
      const { runs, note } = counter();
      const started = gate();
      let wasAborted = false;
      const slow = defineTool({
        name: 'slow',
        description: 'Waits.',
        input: z.object({}),
        execute: (_, { signal }) => {
          started.open();
          return untilAborted(signal).catch(() => {
            wasAborted = true;
            return 'stopped';
          });
        },
      });
      const stop = check('stop', [surface], async (subject) => {
        if ('tool' in subject && subject.tool !== 'note') return allow();
        if (surface === 'toolOutput') await started.opened;
        return halt('stop here');
      });
      const model = scriptedModel([[callTool('slow'), callTool('note', { word: 'a' })], say('Done.')]);
      const agent = defineAgent({ name: 'a', instructions: '', model, tools: [slow, note], guardrails: [stop] });
      const result = await run(agent, 'hi');
      expect(result).toMatchObject({ status: 'blocked', surface, by: 'stop', reason: 'stop here' });
      expect(runs).toEqual(surface === 'toolInput' ? [] : ['a']);
      expect(wasAborted).toBe(surface === 'toolOutput');
      expect(model.requests).toHaveLength(1);
      const { events } = result.log;
      expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
      expect(events.at(-1)).toMatchObject({ type: 'run.end', status: 'blocked' });
      expect(
        eventsOf(result.log, 'tool.end')
          .map(({ callId }) => callId)
          .sort(),
      ).toEqual(['1.0', '1.1']);
      expect(result.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool']);
      expect(await resume(agent, reread(result.log))).toMatchObject({ status: 'blocked', by: 'stop' });
    }
  });
});
