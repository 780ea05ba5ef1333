import type { Page, RunQuery } from '@guardloop/store';
import { needsData } from './agents.js';
import { durableApprovals } from './approvals.js';
import { cancelRun } from './cancel.js';
import { watchEvents } from './events.js';
import { resultOf } from './result.js';
import { runInfo } from './run-info.js';
import { isSameInput } from './submission.js';
import type { SubmitPlace } from './submit.js';
import { submitRun } from './submit.js';
import type { DurableClient, RunInfo } from './types.js';

/** What every process can do; what is to be closed is the caller's business. */
export function clientOver(place: SubmitPlace): Omit<DurableClient, 'close'> {
  const { store } = place;
  return {
    store,
    agents: place.agents && new Map([...place.agents].map(([name, agent]) => [name, { needsData: () => needsData(agent) }] as const)),
    submit: (agent, ...rest) => submitRun(place, agent, rest),
    async status(id) {
      const record = await store.runs.get(id);
      return record && runInfo(record);
    },
    async hasInput(id, input) {
      return isSameInput((await store.runs.get(id))?.submission, input);
    },
    cancel: (id, options) => cancelRun(place, id, options),
    result: (id, options) => resultOf(store, id, options),
    events: (id, options) => watchEvents(store, id, options),
    approvals: durableApprovals(place),
    async list(query?: RunQuery): Promise<Page<RunInfo>> {
      const { items, next } = await store.runs.list(query);
      return { items: items.map(runInfo), ...(next === undefined ? {} : { next }) };
    },
  };
}
