import type {
  HandoffEvent,
  HandoffRefusedEvent,
  InputAcceptEvent,
  MonitorAlertEvent,
  RunEndEvent,
  RunEvent,
  RunResumeEvent,
  RunStartEvent,
} from '@guardloop/core';
import type { Attributes } from '@opentelemetry/api';
import { ROOT_CONTEXT } from '@opentelemetry/api';
import type { Means } from './means.js';
import { genAi, moments, own } from './names.js';
import { refusalOf } from './refusal.js';
import { openRoot } from './root-span.js';
import type { OpenSpan } from './spans.js';
import { addMoment, endSpan, openUnder, setAttributes } from './spans.js';
import type { Place, Track } from './track.js';
import { currentOf } from './track.js';

/** Root runs that are followed at once; the one that was heard of first is let go for one more. */
const mostRoots = 10_000;

/** How a run, or a part of it, is over: `cut` where the next thing heard of it was another process, `lost` where nothing was. */
interface Over {
  readonly status: RunEndEvent['status'] | 'interrupted' | 'cut' | 'lost';
  readonly at: number;
  readonly attributes?: Attributes;
  readonly error?: string | undefined;
}

/** The runs that are under way: their spans, and what hangs on them. */
export class Runs {
  private readonly tracks = new Map<string, Track>();
  private roots = 0;
  private sweptAt = 0;

  /** `hasAsked`: whether people are asked in this run, or one below it, and have not answered. */
  constructor(
    private readonly means: Means,
    private readonly hasAsked: (run: string) => boolean,
  ) {}

  enter(event: RunStartEvent | RunResumeEvent, place: Place): void {
    const before = this.tracks.get(event.run);
    if (before !== undefined) this.close(before, { status: this.standOf(before), at: before.lastAt });
    this.open(event, place);
  }

  /** The run of an event: one whose beginning was not seen is taken up where it is. Of a run that is over nothing more is shown. */
  trackOf(event: RunEvent, place: Place): Track | undefined {
    const known = this.tracks.get(event.run);
    if (known !== undefined) return known;
    return 'seq' in event ? this.open(event, place) : undefined;
  }

  touch(track: Track, at: number): void {
    track.lastAt = at;
    for (let each: Track | undefined = track; each; each = each.above) {
      each.lastAt = at;
      if (each.above === undefined) each.heardAt = performance.now();
    }
  }

  takeInput(track: Track, event: InputAcceptEvent): void {
    const { contents } = this.means;
    if (contents !== undefined && track.open.span !== undefined) setAttributes(track.open, contents.input(event));
  }

  /** A moment in the life of a run: there is no work to be timed. */
  handOff(track: Track, event: HandoffEvent | HandoffRefusedEvent): void {
    const { at } = event;
    if (event.type === 'handoff.refused') {
      addMoment(currentOf(track), moments.handoffRefused, {
        at,
        attributes: { [genAi.callId]: event.callId, ...refusalOf(event.refusal) },
      });
      return;
    }
    const attributes = { [own.handoffFrom]: event.from, [own.handoffTo]: event.to, [genAi.callId]: event.callId };
    const { tracer } = this.means;
    if (tracer) endSpan(openUnder(tracer, currentOf(track), { name: `handoff ${event.to}`, at, attributes }), at);
  }

  alert(track: Track, { at, monitor, sign, then }: MonitorAlertEvent): void {
    addMoment(currentOf(track), moments.monitor, { at, attributes: { [own.monitor]: monitor, [own.sign]: sign, [own.then]: then } });
  }

  end(track: Track, event: RunEndEvent): void {
    const { at, status, limit, refusal, error, text, agent } = event;
    const { contents } = this.means;
    const attributes: Attributes = { ...refusalOf(refusal) };
    if (limit !== undefined) attributes[own.limit] = limit;
    if (status === 'completed' && text !== undefined && contents !== undefined && track.open.span !== undefined)
      Object.assign(attributes, contents.answer({ text, agent }));
    this.close(track, { status, at, attributes, error: error?.code });
  }

  /** Its part is over with the last that the log holds. */
  wait(track: Track): void {
    this.close(track, { status: 'interrupted', at: track.lastAt });
  }

  /** Ends what is open of runs that no more will be heard of: they wait, or were cut. */
  leaveAll(): void {
    for (const track of [...this.tracks.values()])
      if (track.above === undefined) this.close(track, { status: this.standOf(track), at: track.lastAt });
  }

  /** What became of a run of which nothing says that it is over: it waits for people, or was cut. */
  private standOf(track: Track): 'interrupted' | 'cut' {
    const isIdle = (each: Track): boolean =>
      each.chat === undefined &&
      [...each.calls.keys()].every((callId) => this.tracks.has(`${each.id}/${callId}`)) &&
      [...each.children].every(isIdle);
    return isIdle(track) && this.hasAsked(track.id) ? 'interrupted' : 'cut';
  }

  /** A call that is under way. */
  callOf(run: string, callId: string): OpenSpan | undefined {
    return this.tracks.get(run)?.calls.get(callId)?.open;
  }

  private open(event: RunEvent, place: Place): Track {
    const { run, at } = event;
    const above = event.parent === undefined ? undefined : this.nearest(event.parent);
    const track: Track = {
      id: run,
      agent: event.agent,
      place: above?.place ?? place,
      above,
      open: this.openSpan(event, place, above),
      children: new Set(),
      calls: new Map(),
      turn: undefined,
      chat: undefined,
      lastAt: at,
      heardAt: performance.now(),
      inputTokens: undefined,
      outputTokens: undefined,
      cost: undefined,
    };
    if (above === undefined) this.makeRoom();
    this.tracks.set(run, track);
    above?.children.add(track);
    return track;
  }

  private openSpan(event: RunEvent, place: Place, above: Track | undefined): OpenSpan {
    const { run, agent, at } = event;
    const { tracer, settings } = this.means;
    const isFirst = event.type === 'run.start';
    const { conversation } = above?.place ?? place;
    const attributes: Attributes = { [genAi.operation]: 'invoke_agent', [genAi.agent]: agent, [own.run]: run };
    if (conversation !== undefined) attributes[genAi.conversation] = conversation;
    if (!isFirst) attributes[own.isResumed] = true;
    if (event.type === 'run.resume' && event.reopens) attributes[own.isReopened] = true;
    const start = { name: `invoke_agent ${agent}`, at, attributes };
    if (above !== undefined) {
      const parent = above.calls.get(run.slice(above.id.length + 1))?.open ?? currentOf(above);
      return tracer ? openUnder(tracer, parent, start) : { span: undefined, context: parent.context, startAt: at };
    }
    if (tracer === undefined) return { span: undefined, context: ROOT_CONTEXT, startAt: at };
    return openRoot(tracer, place, { hangsOnActive: settings.parent === 'active', start: { ...start, run, isFirst } });
  }

  /** The run above that is known: the parent, or, where its own was not heard of yet, one further up. */
  private nearest(parent: string): Track | undefined {
    for (let id = parent; id !== ''; id = id.slice(0, Math.max(0, id.lastIndexOf('/')))) {
      const known = this.tracks.get(id);
      if (known !== undefined) return known;
    }
    return undefined;
  }

  /** Lets go of roots that were not heard of for long, and of the oldest where there are too many. */
  private makeRoom(): void {
    this.roots += 1;
    const now = performance.now();
    const { forgetAfterMs } = this.means.settings;
    const isDue = now - this.sweptAt >= forgetAfterMs / 4;
    if (!isDue && this.roots <= mostRoots) return;
    if (isDue) this.sweptAt = now;
    for (const track of [...this.tracks.values()]) {
      if (track.above !== undefined) continue;
      if (this.roots <= mostRoots && now - track.heardAt < forgetAfterMs) continue;
      this.close(track, { status: 'lost', at: track.lastAt });
      if (!isDue && this.roots <= mostRoots) return;
    }
  }

  private close(track: Track, { status, at, attributes, error }: Over): void {
    for (const child of [...track.children])
      this.close(child, { status: status === 'interrupted' || status === 'cut' ? status : 'lost', at: child.lastAt });
    for (const { open } of track.calls.values())
      endSpan(open, at, { attributes: { [own.callStatus]: status === 'interrupted' ? 'waiting' : 'unknown' } });
    track.calls.clear();
    if (track.chat !== undefined) {
      if (track.chat.retry !== undefined) endSpan(track.chat.retry.open, Math.min(at, track.chat.retry.endsAt));
      endSpan(track.chat.open, at, { attributes: { [own.modelStatus]: status } });
      track.chat = undefined;
    }
    if (track.turn !== undefined) endSpan(track.turn, Math.max(track.lastAt, track.turn.startAt));
    track.turn = undefined;
    const used: Attributes = { [own.status]: status };
    if (track.inputTokens !== undefined) used[genAi.inputTokens] = track.inputTokens;
    if (track.outputTokens !== undefined) used[genAi.outputTokens] = track.outputTokens;
    if (track.cost !== undefined) used[own.cost] = track.cost;
    endSpan(track.open, at, { attributes: { ...used, ...attributes }, error });
    this.tracks.delete(track.id);
    track.above?.children.delete(track);
    if (track.above === undefined) this.roots -= 1;
    if (track.place.isPast || status === 'lost') return;
    this.means.metrics?.time('runDuration', at - track.open.startAt, {
      [genAi.agent]: track.agent,
      [own.status]: status,
      [own.isChild]: track.above !== undefined,
      ...(error === undefined ? {} : { [genAi.errorType]: error }),
    });
  }
}
