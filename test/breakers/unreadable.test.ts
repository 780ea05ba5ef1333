import { compareVerdicts, defineAgent, defineTool, GuardloopError, memorySession, resume, run, stream } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { expect, it } from 'vitest';
import { z } from 'zod';

const boom = (): never => {
  throw new Error('CANARY');
};
const revoked = <T extends object>(target: T): T => {
  const { proxy, revoke } = Proxy.revocable(target, {});
  revoke();
  return proxy;
};
/** What cannot be read, each anew. */
const unreadable = (): readonly unknown[] => [
  new Proxy({}, { get: boom, has: boom, ownKeys: boom, getOwnPropertyDescriptor: boom, getPrototypeOf: boom }),
  new Proxy([1], { get: boom, has: boom, ownKeys: boom, getOwnPropertyDescriptor: boom }),
  revoked({}),
  revoked([]),
  Object.defineProperty({}, 'x', { get: boom, enumerable: true }),
];
const options = [
  'limits',
  'observers',
  'session',
  'history',
  'guardrails',
  'settings',
  'approvals',
  'quarantine',
  'model',
  'clock',
  'signal',
];
const send = defineTool({ name: 'send', description: '', input: z.object({ to: z.string() }), approval: true, execute: () => 'sent' });
const desk = () =>
  defineAgent({ name: 'desk', instructions: '', model: scriptedModel([callTool('send', { to: 'ann' }), say('done')]), tools: [send] });

/** Whatever is wrong is told with a code, and never in the words of what was thrown. */
async function expectCode(tried: () => unknown): Promise<void> {
  try {
    await tried();
  } catch (thrown) {
    expect(GuardloopError.is(thrown)).toBe(true);
    expect(String(thrown)).not.toContain('CANARY');
  }
}

it('options, input and history that cannot be read are refused with a code', async () => {
  for (const given of unreadable()) {
    for (const name of options) {
      await expectCode(() => run(desk(), 'hi', { [name]: given }));
      await expectCode(() => run(desk(), 'hi', { [name]: [given] }));
    }
    await expectCode(() => run(desk(), given as never));
    await expectCode(() => run(desk(), [given] as never));
    await expectCode(() => stream(desk(), [given] as never));
    await expectCode(() => run(desk(), 'hi', given as never));
  }
});

it('an observer that cannot be read is refused before anything is stored', async () => {
  const store = memorySession();
  const observers = [Object.defineProperty({}, 'tool.end', { get: boom, enumerable: true })];
  await expect(run(desk(), 'hi', { observers, session: { store, id: 's' } })).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  expect(await store.load('s')).toEqual([]);
});

it('logs and decisions that cannot be read are refused with a code, and nothing runs', async () => {
  const asked = await run(desk(), 'hi');
  if (asked.status !== 'interrupted') throw new Error(asked.status);
  const id = asked.approvals[0]?.id ?? '';
  for (const given of unreadable()) {
    await expectCode(() => resume(desk(), given as never));
    await expectCode(() => resume(desk(), { version: 1, events: [given] } as never));
    await expectCode(() => compareVerdicts([given] as never, []));
    await expectCode(() => resume(desk(), asked.log, { decisions: given as never }));
    for (const decision of [given, { edit: given }, { decision: given, by: 'ann' }, { approve: 'standing', when: given }]) {
      const refused = resume(desk(), asked.log, { decisions: { [id]: decision as never } });
      await expect(Promise.resolve(refused)).rejects.toMatchObject({ code: 'RESUME_MISMATCH' });
    }
  }
});
