import type { RunInfo } from '@guardloop/durable';
import type { Caller } from './caller.js';
import { mayCaller } from './caller.js';
import type { Call } from './operation.js';
import { outcomeOf } from './outcome.js';
import { Problem } from './problem.js';
import { eventNumberSchema } from './schemas.js';
import type { EventStance } from './show.js';
import { clientEvent, outcomeView } from './show.js';
import type { SseMessage } from './sse.js';
import type { ClientEvent } from './views.js';

/** Where a client wants to go on: the header of a reconnecting client counts before the address it first came with. */
export function placeOf(request: Request, after: string | undefined): string | undefined {
  const place = request.headers.get('last-event-id') ?? after;
  if (place === undefined || place === '') return undefined;
  if (!eventNumberSchema.safeParse(place).success)
    throw new Problem('bad-query', { errors: [{ path: 'after', expected: 'the number of an event' }] });
  return place;
}

/** How this caller sees the events of this run. */
export function stanceOf<U extends Caller>({ settings, caller, show }: Call<U>, root: string): EventStance {
  return {
    root,
    show,
    user: caller.user,
    approval: async (id) => {
      const approval = await settings.runs.approvals.get(id);
      if (approval === undefined || !(await mayCaller(settings.authorize, { action: 'approval.read', approval }, caller))) return undefined;
      return {
        mayDecide: approval.state === 'open' && (await mayCaller(settings.authorize, { action: 'approval.decide', approval }, caller)),
      };
    },
  };
}

const messageOf = (event: ClientEvent, id: string): SseMessage => ({ event: event.type, id, data: JSON.stringify(event) });

/** The run's own stream: what happened since `after`, then what happens, until it has ended. */
export function runStream<U extends Caller>(call: Call<U>, run: RunInfo, after: string | undefined): Response {
  const stance = stanceOf(call, run.id);
  async function* messages(signal: AbortSignal): AsyncGenerator<SseMessage> {
    const { runs } = call.settings;
    let number = after ?? '0';
    let isTold = false;
    for await (const numbered of runs.events(run.id, { after, signal })) {
      number = numbered.number;
      isTold ||= numbered.event.type === 'run.end' && numbered.event.run === run.id;
      const shown = await clientEvent(numbered, stance);
      if (shown !== undefined) yield messageOf(shown, number);
    }
    if (isTold || signal.aborted) return;
    // It ended without an end in its log: before it began, or given up.
    const outcome = outcomeOf(await runs.result(run.id, { waitMs: 0 }));
    if (outcome !== undefined) yield messageOf({ type: 'run.end', run: run.id, outcome: outcomeView(outcome, call.show) }, number);
  }
  return call.stream(messages, { 'guardloop-run': run.id });
}
