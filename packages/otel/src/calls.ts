import type { ToolEndEvent, ToolProgressEvent, ToolStartEvent } from '@guardloop/core';
import type { Attributes } from '@opentelemetry/api';
import { inContext } from './in-context.js';
import type { Means } from './means.js';
import { genAi, moments, own } from './names.js';
import { refusalOf } from './refusal.js';
import type { Runs } from './runs.js';
import { safely } from './safely.js';
import { addMoment, endSpan, openUnder } from './spans.js';
import type { Track } from './track.js';
import { currentOf } from './track.js';

/** Calls of tools. */
export class Calls {
  constructor(
    private readonly means: Means,
    private readonly runs: Runs,
  ) {}

  begin(track: Track, { at, callId, tool, input, agent }: ToolStartEvent): void {
    const { tracer, contents } = this.means;
    const parent = currentOf(track);
    const before = track.calls.get(callId);
    if (before !== undefined) endSpan(before.open, at, { attributes: { [own.callStatus]: 'unknown' } });
    const attributes: Attributes = {
      [genAi.operation]: 'execute_tool',
      [genAi.tool]: tool,
      [genAi.toolType]: 'function',
      [genAi.callId]: callId,
      [genAi.agent]: agent,
      ...(contents === undefined || parent.span === undefined ? {} : contents.arguments(input, { agent, tool })),
    };
    const open = tracer
      ? openUnder(tracer, parent, { name: `execute_tool ${tool}`, at, attributes })
      : { span: undefined, context: parent.context, startAt: at };
    track.calls.set(callId, { tool, open });
  }

  end(track: Track, event: ToolEndEvent): void {
    const { at, callId, tool, status, errorClass, refusal, content, agent } = event;
    const { contents, metrics } = this.means;
    const attributes: Attributes = { [own.callStatus]: status, ...refusalOf(refusal) };
    const error = status === 'ok' ? undefined : (errorClass ?? status);
    const call = track.calls.get(callId);
    if (call === undefined) {
      // It did not run, or began in another process. The name of a tool that does not exist is the model's own word.
      const known = { ...attributes, [genAi.callId]: callId, ...(error === undefined ? {} : { [genAi.errorType]: error }) };
      addMoment(currentOf(track), moments.callEnd, { at, attributes: known });
      return;
    }
    track.calls.delete(callId);
    // Words of failure may be those of who refused: a guardrail of the tool, or of a child run.
    if (contents !== undefined && status === 'ok' && call.open.span !== undefined)
      Object.assign(attributes, contents.result(content, { agent, tool }));
    endSpan(call.open, at, { attributes, error });
    if (track.place.isPast) return;
    metrics?.time('toolDuration', at - call.open.startAt, {
      [genAi.tool]: tool,
      [own.callStatus]: status,
      ...(error === undefined ? {} : { [genAi.errorType]: error }),
    });
  }

  /** A step; words have been judged by nobody. */
  progress(track: Track, { at, callId, step }: ToolProgressEvent): void {
    const call = track.calls.get(callId);
    if (call !== undefined && step !== undefined) addMoment(call.open, moments.progress, { at, attributes: { [own.step]: step } });
  }

  /** Calls `execute` with the call's span as the active one. */
  within<T>(execute: () => T, { run, callId }: { readonly run: string; readonly callId: string }): T {
    const open = safely('finding a call', () => this.runs.callOf(run, callId));
    return open === undefined ? execute() : inContext(open.context, execute);
  }
}
