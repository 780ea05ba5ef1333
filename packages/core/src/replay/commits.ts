import type { RunHandle } from '../run/handle.js';
import { standNow } from '../run/plan.js';
import { changeTexts } from '../state/conversation.js';
import type { ApprovalRequestEvent, InputAcceptEvent, LogEvent, ModelStartEvent } from '../state/events.js';
import { answerSites } from './answer-sites.js';
import { editSites, endSites, startSites } from './call-sites.js';
import { handoffSites } from './handoff-sites.js';
import type { Replayed, Site } from './site.js';
import { enterAll, everything } from './site.js';

/** What an event committed, in the order in which it was judged. Each site is found when the one before it was judged. */
export function sitesOf(replayed: Replayed, handle: RunHandle, event: LogEvent): Iterable<Site> {
  const { recorded, quarantined } = replayed;
  const run = handle.state.id;
  switch (event.type) {
    case 'input.accept':
      return [inputSite(replayed, handle, event)];
    case 'model.start':
      return viewSites(replayed, handle, event);
    case 'model.end':
      return answerSites(replayed, handle, event);
    case 'approval.request':
      return requestSites(replayed, handle, event);
    case 'approval.resolve':
      return editSites(replayed, handle, event);
    case 'tool.start':
      return startSites(replayed, handle, event);
    case 'tool.end':
      return endSites(replayed, handle, event);
    case 'handoff':
      return handoffSites(replayed, handle, event);
    case 'handoff.refused': {
      const was = recorded.take(run);
      return [{ event, handle, was, unknown: everything(was, 'history') }];
    }
    case 'run.end': {
      const open = quarantined.get(run);
      quarantined.delete(run);
      const was = recorded.take(run);
      const refused: Site[] = event.status === 'blocked' ? [{ event, handle, was, unknown: everything(was, 'refused') }] : [];
      return open ? [{ ...open, handle, unknown: everything(open.was, 'waiting') }, ...refused] : refused;
    }
    case 'monitor.alert':
    case 'run.start':
    case 'run.resume':
    case 'guard.verdict':
      return [];
    default:
      return event satisfies never;
  }
}

function inputSite({ recorded }: Replayed, handle: RunHandle, event: InputAcceptEvent): Site {
  const { conversation, agent } = handle.state;
  const entry = event.subject;
  const was = recorded.take(handle.state.id);
  const ask = () =>
    enterAll(handle, {
      subject: entry,
      agent,
      fresh: event.items,
      history: changeTexts(conversation.view, event.changed ?? []),
      stays: conversation.activations.length - 1,
      guards: standNow(handle).input,
    });
  return { event, handle, was, entry, ask };
}

/** What a view wrote anew for this turn. */
function viewSites({ recorded }: Replayed, handle: RunHandle, event: ModelStartEvent): readonly Site[] {
  const { id, agent, conversation } = handle.state;
  const before = `${id}/${event.turn}/v`;
  const was = recorded.take(id, ({ subject }) => subject.startsWith(before));
  const fresh = (event.view ?? []).flatMap((each) =>
    typeof each !== 'string' && 'role' in each && each.id.startsWith(before) ? [each] : [],
  );
  if (fresh.length === 0) return [];
  const entry = `${id}/${event.turn}/view`;
  const ask = () =>
    enterAll(handle, {
      subject: entry,
      agent,
      fresh,
      history: [],
      stays: conversation.activations.length - 1,
      guards: standNow(handle).input,
    });
  return [{ event, handle, was, entry, ask }];
}

function requestSites({ recorded, quarantined }: Replayed, handle: RunHandle, event: ApprovalRequestEvent): readonly Site[] {
  const { id } = handle.state;
  const { approval } = event;
  if (approval.surface === 'output') {
    quarantined.set(id, { event, was: recorded.take(id) });
    return [];
  }
  const was = recorded.take(id, ({ subject }) => subject === approval.subject);
  return was.length === 0 ? [] : [{ event, handle, was, unknown: everything(was, 'history') }];
}
