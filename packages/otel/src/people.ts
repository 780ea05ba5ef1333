import type { ApprovalRequestEvent, ApprovalResolveEvent } from '@guardloop/core';
import type { Attributes, SpanContext } from '@opentelemetry/api';
import type { Means } from './means.js';
import { genAi, moments, own } from './names.js';
import { safely } from './safely.js';
import { addMoment, endSpan, openUnder } from './spans.js';
import type { Track } from './track.js';
import { currentOf } from './track.js';

interface Asked {
  readonly surface: string;
  readonly tool: string | undefined;
  readonly span: SpanContext | undefined;
}
/** What this process has asked last and not heard of since: for the names of a wait that began here. */
const mostAsked = 1_000;

/** What people are asked. A wait is no open span: it is made when it is over, with its beginning. */
export class People {
  private readonly asked = new Map<string, Asked>();

  constructor(private readonly means: Means) {}

  hasAsked(run: string): boolean {
    for (const id of this.asked.keys()) if (id.startsWith(`${run}/`)) return true;
    return false;
  }

  ask(track: Track, { at, approval }: ApprovalRequestEvent): void {
    const { id, surface, tool } = approval;
    const current = currentOf(track);
    const attributes: Attributes = { [own.approval]: id, [own.approvalSurface]: surface };
    if (tool !== undefined) attributes[genAi.tool] = tool;
    addMoment(current, moments.approvalRequest, { at, attributes });
    const [oldest] = this.asked.keys();
    if (this.asked.size >= mostAsked && oldest !== undefined) this.asked.delete(oldest);
    const { span } = current;
    this.asked.set(id, { surface, tool, span: span && safely('reading a span', () => span.spanContext()) });
  }

  answer(track: Track, { at, id, decision, askedAt, byStanding }: ApprovalResolveEvent): void {
    const asked = this.asked.get(id);
    this.asked.delete(id);
    const what: Attributes = { [own.decision]: decision };
    if (asked !== undefined) what[own.approvalSurface] = asked.surface;
    if (asked?.tool !== undefined) what[genAi.tool] = asked.tool;
    if (byStanding !== undefined) what[own.isStanding] = true;
    const { tracer, metrics } = this.means;
    if (tracer) {
      const links = asked?.span === undefined ? [] : [{ context: asked.span }];
      const start = { name: 'approval', at: askedAt ?? at, attributes: { ...what, [own.approval]: id }, links };
      endSpan(openUnder(tracer, track.open, start), at);
    }
    if (!track.place.isPast && askedAt !== undefined) metrics?.time('approvalWait', at - askedAt, what);
  }
}
