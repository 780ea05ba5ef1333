import type { z } from 'zod';
import type { Caller } from '../caller.js';
import { runId } from '../ids.js';
import type { Call, Operation } from '../operation.js';
import { operation } from '../operation.js';
import { Problem } from '../problem.js';
import { nameSchema } from '../schemas.js';
import { offeredAgent, sessionOf, startRun } from '../start-run.js';
import { AgUiTranslator } from './ag-ui-events.js';
import type { RunAgentInput } from './ag-ui-input.js';
import { agUiAnswers, agUiInput, agUiKnown, agUiResults, mostAnswers, runAgentInputSchema } from './ag-ui-input.js';
import type { FrontEndAnswer } from './answers.js';
import { decideAll } from './answers.js';
import type { Leg } from './turns.js';
import { legOf, mostMessages } from './turns.js';

/** One address for each agent, which an `HttpAgent` of @ag-ui/client is given. */
export function agUiOperations<U extends Caller>(): readonly Operation<U>[] {
  return [
    operation<U, z.ZodObject, typeof runAgentInputSchema>({
      id: 'agUi',
      method: 'POST',
      path: '/ag-ui/{agent}',
      summary: 'Starts a run, or answers what a run waits for, and streams it as events of AG-UI 1.0.',
      params: { agent: nameSchema },
      body: runAgentInputSchema,
      longest: () => ({ messages: mostMessages, resume: mostAnswers }),
      isHistory: true,
      answers: { 200: { description: 'Events of AG-UI.', isStream: true } },
      problems: [404, 409, 410, 422],
      handle: async (call) => {
        const { body } = call;
        const answers = [...agUiAnswers(body), ...agUiResults(body, call.settings)];
        const leg = answers.length === 0 ? await begun(call, body) : await resumed(call, body, answers);
        const { threadId, runId: legId, messages } = body;
        const make = new AgUiTranslator({
          threadId,
          runId: legId,
          root: leg.run,
          show: call.show,
          isAnswer: body.resume !== undefined,
          history: messages,
          known: agUiKnown(body),
        });
        return call.stream(
          async function* (signal) {
            for await (const piece of legOf(call, leg, { make, signal })) yield { data: JSON.stringify(piece) };
          },
          { 'guardloop-run': leg.run },
        );
      },
    }),
  ];
}

async function begun<U extends Caller>(call: Call<U>, body: RunAgentInput): Promise<Leg> {
  const { agent = '' } = call.params;
  const input = agUiInput(body);
  const id = await runId(call.caller, 'ag-ui', agent, body.threadId, body.runId);
  if ((await call.settings.runs.status(id)) === undefined) await refuseWhileWaiting(call, body.threadId);
  const { run } = await startRun(call, { agent, input, session: body.threadId, id });
  return { run: run.id };
}

async function resumed<U extends Caller>(call: Call<U>, { threadId }: RunAgentInput, answers: readonly FrontEndAnswer[]): Promise<Leg> {
  await offeredAgent(call, call.params.agent ?? '');
  return decideAll(call, await sessionOf(call, threadId), answers);
}

/** A new message would wait behind the open question, and nobody would see why. */
export async function refuseWhileWaiting<U extends Caller>(call: Call<U>, name: string): Promise<void> {
  const session = await call.settings.runs.store.sessions.get(await sessionOf(call, name));
  if (session?.status === 'waiting')
    throw new Problem('conflict', {
      detail: 'The conversation waits for a decision, or for the result of a tool that the front end runs. Give it first.',
    });
}
