import type { GuardBreakerEvent, GuardVerdictEvent } from '@guardloop/core';
import type { Attributes } from '@opentelemetry/api';
import type { Means } from './means.js';
import { moments, own } from './names.js';
import type { OpenSpan } from './spans.js';
import { addMoment, endSpan, openUnder } from './spans.js';
import type { Track } from './track.js';
import { currentOf } from './track.js';

/** Answers of guardrails: who, where and what; never why, nor on what. */
export class Verdicts {
  constructor(private readonly means: Means) {}

  give(track: Track, event: GuardVerdictEvent): void {
    const { at, ms, guardrail, surface, action } = event;
    const { tracer, metrics } = this.means;
    const parent = parentOf(track, event);
    if (tracer && parent.span !== undefined) {
      const open = openUnder(tracer, parent, {
        name: `guardrail ${guardrail}`,
        at: Math.max(at - ms, parent.startAt),
        attributes: attributesOf(event),
      });
      endSpan(open, at);
    }
    if (track.place.isPast || metrics === undefined) return;
    const base: Attributes = { [own.guardrail]: guardrail, [own.surface]: surface };
    metrics.add('verdicts', 1, {
      ...base,
      [own.action]: action,
      [own.isFailed]: event.failed === true,
      [own.isShadow]: event.shadow === true,
    });
    metrics.time('guardrailDuration', ms, base);
  }

  notice(track: Track, { at, guardrail, state }: GuardBreakerEvent): void {
    addMoment(currentOf(track), moments.breaker, { at, attributes: { [own.guardrail]: guardrail, [own.breaker]: state } });
  }
}

function attributesOf(event: GuardVerdictEvent): Attributes {
  const attributes: Attributes = {
    [own.guardrail]: event.guardrail,
    [own.level]: event.level,
    [own.surface]: event.surface,
    [own.phase]: event.phase,
    [own.action]: event.action,
  };
  if (event.version !== undefined) attributes[own.guardrailVersion] = event.version;
  if (event.failed) attributes[own.isFailed] = true;
  if (event.failure !== undefined) attributes[own.failure] = event.failure;
  if (event.shadow) attributes[own.isShadow] = true;
  if (event.beside) attributes[own.isBeside] = true;
  return attributes;
}

/** A verdict on what a tool gave hangs under its call; any other where the run stands. */
function parentOf(track: Track, { surface, subject }: GuardVerdictEvent): OpenSpan {
  if (surface !== 'toolOutput') return currentOf(track);
  const [call = ''] = subject.slice(track.id.length + 1).split('/');
  return track.calls.get(call)?.open ?? currentOf(track);
}
