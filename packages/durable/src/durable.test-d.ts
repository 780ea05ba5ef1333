import { defineAgent, withContext } from '@guardloop/core';
import { scriptedModel } from '@guardloop/testing';
import { expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import type { Durable, DurableAgent, DurableClient, DurableResult, SubmittedRun } from './index.js';
import { durable, durableAgent } from './index.js';

const model = scriptedModel([]);
const plain = defineAgent({ name: 'plain', instructions: '', model });
const own = withContext<{ readonly user: string }>();
const withUser = own.defineAgent({ name: 'own', instructions: '', model });

test('an agent with a context is registered with what makes it', () => {
  expectTypeOf(durableAgent(plain)).toEqualTypeOf<DurableAgent<undefined>>();
  const made = durableAgent(withUser, { data: z.object({ id: z.number() }), context: ({ data }) => ({ user: String(data.id) }) });
  expectTypeOf(made).toEqualTypeOf<DurableAgent<{ id: number }>>();
  expectTypeOf(durableAgent(withUser, { context: (run: SubmittedRun<{ name: string }>) => ({ user: run.data.name }) })).toEqualTypeOf<
    DurableAgent<{ name: string }>
  >();
  // @ts-expect-error it needs a context
  durableAgent(withUser);
  // @ts-expect-error of another form
  durableAgent(withUser, { context: () => ({ name: 'anna' }) });
  // @ts-expect-error options that a worker sets
  durableAgent(plain, { options: { runId: 'r1' } });
  // @ts-expect-error approvals of durable runs are not signed
  durableAgent(plain, { options: { approvals: { key: 'a' } } });
});

test('what is submitted fits the agent and the queues', () => {
  const runs = durable({
    agents: {
      plain,
      own: durableAgent(withUser, { data: z.object({ id: z.number() }), context: ({ data }) => ({ user: String(data.id) }) }),
    },
    queues: { mail: { concurrency: 2 } },
  });
  void runs.submit('plain', 'Hi', { queue: 'mail' });
  void runs.submit('plain', 'Hi', { queue: 'default' });
  void runs.submit('own', 'Hi', { data: { id: 1 } });
  // @ts-expect-error no such agent
  void runs.submit('plane', 'Hi');
  // @ts-expect-error no such queue
  void runs.submit('plain', 'Hi', { queue: 'male' });
  // @ts-expect-error the data is missing
  void runs.submit('own', 'Hi');
  // @ts-expect-error the data does not fit
  void runs.submit('own', 'Hi', { data: { id: 'one' } });
  // @ts-expect-error it takes none
  void runs.submit('plain', 'Hi', { data: { id: 1 } });
  // @ts-expect-error no such queue
  void runs.worker({ queues: ['male'] });
  expectTypeOf<Durable<{ plain: typeof plain }>>().toExtend<Omit<DurableClient, 'submit'>>();
});

test('an agent that needs a context is not registered as it is', () => {
  // @ts-expect-error give durableAgent(withUser, { context })
  durable({ agents: { own: withUser } });
});

test('a result is told by its status', () => {
  const result = {} as DurableResult;
  if (result.status === 'completed') expectTypeOf(result.text).toBeString();
  if (result.status === 'interrupted') expectTypeOf(result.approvals[0]?.id).toEqualTypeOf<string | undefined>();
  // @ts-expect-error only of some
  result.text;
});
