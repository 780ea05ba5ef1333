// Whether a run that is to go on finds what it needs: its agents, the tools of open calls, the guardrails that stood.
import { property } from '../define/definition-reader.js';
import { resolveAgents } from '../define/resolve.js';
import { GuardloopError } from '../errors.js';
import type { Change } from '../state/definitions.js';
import { changesBetween } from '../state/definitions.js';
import type { GuardEntry, Manifest } from '../state/events.js';
import type { CallState } from '../state/state.js';
import { RunHandle } from './handle.js';
import type { Options } from './options.js';
import { manifestOf, standOf } from './plan.js';

export const mismatch = (message: string): GuardloopError => new GuardloopError('RESUME_MISMATCH', message);

/** The approvals that are rejected, as far as that can be told before all is read. */
export function rejectionsOf(decisions: ReadonlyMap<string, unknown>): ReadonlySet<string> {
  const isRejection = (given: unknown): boolean =>
    typeof property(given, 'reject') === 'string' || typeof property(property(given, 'decision'), 'reject') === 'string';
  return new Set([...decisions].flatMap(([id, given]) => (isRejection(given) ? [id] : [])));
}

/** Whether nothing of the call is to happen any more, so that it needs neither its tool nor its handoff. */
const isRejected = ({ phase, approval, decision }: CallState, rejected: ReadonlySet<string>): boolean =>
  phase === 'waiting' ? approval !== undefined && rejected.has(approval.id) : phase === 'decided' && decision?.decision === 'reject';

/** As {@link checkFit}; the error's `details` say so where `accept: 'changed'` would do. */
export function checkWhole(handle: RunHandle, options: Options, rejected: ReadonlySet<string>): void {
  try {
    checkFit(handle, options, rejected);
  } catch (thrown) {
    if (GuardloopError.is(thrown) && thrown.code === 'RESUME_MISMATCH' && options.accept !== 'changed') {
      try {
        checkFit(handle, { ...options, accept: 'changed' }, rejected);
      } catch {
        throw thrown;
      }
      throw new GuardloopError(thrown.code, thrown.message, { details: { accept: 'changed' } });
    }
    throw thrown;
  }
}

/** Guardrails, agents and tools that the open run and its child runs need are there; a rejected call needs none. */
function checkFit(handle: RunHandle, options: Options, rejected: ReadonlySet<string>): void {
  const { state, agents, root } = handle;
  const agent = agents.get(state.agent);
  if (agent === undefined)
    throw mismatch(
      `The run ${state.id} stands at agent ${state.agent}, which is not reachable from the agent given. Give an agent that reaches it.`,
    );
  const manifest = manifestOf(standOf(agent, root.runGuards), agents);
  const changes = changesBetween(state.manifest, manifest);
  if (options.accept === 'same' && changes.length > 0)
    throw mismatch(
      `The run ${state.id} was left under other definitions, and accept: 'same' takes no change: ${changes.map(describeChange).join(', ')}. Give them as they were, or leave accept out to take up what does no harm.`,
    );
  const stands = new Set(standing(manifest).map(({ place }) => place));
  const missing = [...new Set(standing(state.manifest).flatMap(({ guardrail, place }) => (stands.has(place) ? [] : [guardrail])))];
  if (missing.length > 0 && options.accept !== 'changed') {
    throw mismatch(
      `Guardrails that stood when the run ${state.id} began are missing now, or stand on less: ${missing.join(', ')}. Give them again as they were, or give accept: 'changed' to go on without them.`,
    );
  }
  for (const call of state.calls.values()) {
    if (call.phase === 'ended' || call.call.end || call.call.kind === 'unknown' || isRejected(call, rejected)) continue;
    const isThere =
      call.call.kind === 'handoff'
        ? agent.handoffs.some(({ name }) => name === call.call.name)
        : agent.tools.some(({ name }) => name === call.call.name) || call.call.name === 'read_observation';
    if (!isThere)
      throw mismatch(
        `The call ${call.call.id} of the run ${state.id} is of ${call.call.name}, which agent ${agent.name} does not have any more. Give the agent its tool again, reject the call where it waits for a person, or give the run up.`,
      );
    if (
      options.accept !== 'changed' &&
      changes.some(({ kind, name, how }) => kind === 'tool' && how === 'effect' && name === call.call.name)
    )
      throw mismatch(
        `The call ${call.call.id} of the run ${state.id} is of ${call.call.name}, whose effect is declared otherwise now than when the run was left. Give the tool as it was, give accept: 'changed' to go on with it as it is, or reject the call.`,
      );
    const child = call.phase === 'started' ? state.children?.get(call.call.id) : undefined;
    const spec = agent.tools.find(({ name }) => name === call.call.name)?.agent;
    if (child && child.ended === undefined && spec)
      checkFit(new RunHandle(root, child, { agents: resolveAgents(spec.agent) }), options, rejected);
  }
}

const describeChange = ({ kind, name, how }: Change): string => `${kind} ${name} ${how === 'effect' ? 'with another effect' : how}`;

/** Where guardrails stand: their name, and of those that are obeyed each surface and phase. */
function standing(manifest: Manifest): readonly { readonly guardrail: string; readonly place: string }[] {
  const owners: readonly (readonly [string, readonly GuardEntry[]])[] = [
    ['run', manifest.run],
    ['agent', manifest.agent],
    ...Object.entries(manifest.tools).map(([tool, entries]) => [`tool ${tool}`, entries] as const),
  ];
  return owners.flatMap(([owner, entries]) =>
    entries.flatMap(({ name, surfaces, phases, tools, shadow }) => {
      const guardrail = `${owner} ${name}`;
      const present = { guardrail, place: guardrail };
      if (shadow) return [present];
      const scope = tools === undefined ? '' : ` for ${tools.join(', ')}`;
      return [
        present,
        ...surfaces.flatMap((surface) => phases.map((phase) => ({ guardrail, place: `${guardrail} ${surface} ${phase}${scope}` }))),
      ];
    }),
  );
}
