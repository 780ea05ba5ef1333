import type { ToolSpec } from '../define/specs.js';
import { isFinal, readToolError } from '../define/tool-error.js';
import type { JsonObject } from '../model/types.js';
import type { CallEnd, ErrorClass } from '../state/events.js';
import { aroundInfo } from './around-output.js';
import type { RunHandle, Settled } from './handle.js';
import { graceMs } from './handle.js';
import { isPromise } from './is-promise.js';
import { errorEnd, unknownEnd } from './observations.js';
import type { OpenCall } from './open-call.js';
import { guardsOfTool, standNow } from './plan.js';

/** What `execute` came to. */
export type Outcome =
  | { readonly kind: 'value'; readonly value: unknown }
  | {
      readonly kind: 'error';
      readonly summary: string;
      readonly errorClass: ErrorClass;
      readonly retryable: boolean;
      /** The tool said that trying again is of no use. */
      readonly isFinal?: true;
    }
  | { readonly kind: 'end'; readonly end: CallEnd }
  | { readonly kind: 'waiting' };

/** More is no step, but could be a number that a guardrail would hide. */
const mostSteps = 1_000_000;

/** What `execute` is told; its signal is made when it is first read. */
class CallInfo {
  #controller: AbortController | undefined;
  #off: (() => void) | undefined;
  isOver = false;
  readonly #handle: RunHandle;
  readonly #tool: string;
  /** Its texts are made into others before they are shown. */
  readonly #isAround: boolean;
  readonly callId: string;
  constructor({ handle, tool, call }: OpenCall) {
    this.#handle = handle;
    this.#tool = tool.name;
    this.#isAround = tool.around?.text !== undefined;
    this.callId = call.call.id;
  }
  get context(): unknown {
    return this.#handle.root.context;
  }
  get progress(): (note: string | number) => void {
    return (note) => {
      if (!this.isOver) this.#handle.emit({ type: 'tool.progress', callId: this.callId, tool: this.#tool, ...this.#shown(note) });
    };
  }
  /** Nobody judges a note. A step says too little to need that; words are left out where a guardrail stands on the tool's output. */
  #shown(note: string | number): { readonly step?: number; readonly note?: string } {
    if (typeof note === 'number' && note >= 0 && note <= mostSteps) return { step: note };
    const isGuarded = this.#isAround || guardsOfTool(standNow(this.#handle), 'toolOutput', this.#tool).some(({ spec }) => !spec.shadow);
    return isGuarded ? {} : { note: String(note) };
  }
  get run(): string {
    return this.#handle.state.id;
  }
  get agent(): string {
    return this.#handle.state.agent;
  }
  get idempotencyKey(): string {
    return `${this.#handle.state.id}/${this.callId}`;
  }
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      const controller = new AbortController();
      this.#controller = controller;
      this.#off = this.#handle.onStop(() => controller.abort(this.#handle.stopReason));
    }
    return this.#controller.signal;
  }
  end(reason?: unknown): void {
    this.isOver = true;
    this.#off?.();
    if (reason !== undefined) this.#controller?.abort(reason);
  }
}

/** Calls the tool's function once and waits for it, no longer than its deadline, of which `ms` is left. Never rejects. */
export function executeTool(open: OpenCall, input: unknown, ms = open.tool.timeoutMs): Outcome | Promise<Outcome> {
  const { handle, tool } = open;
  const info = new CallInfo(open);
  let given: unknown;
  try {
    given = tool.around?.input === undefined ? execute(open, info, input) : executeAround(open, info, input);
    if (!isPromise(given)) {
      info.end();
      return { kind: 'value', value: given };
    }
  } catch (thrown) {
    info.end();
    return failed(tool, thrown);
  }
  return handle.wait(given, ms, graceMs).then((settled) => outcomeOf(open, info, settled));
}

function execute(open: OpenCall, info: CallInfo, input: unknown): unknown {
  const { tool } = open;
  const call = (): unknown => tool.execute?.(input as never, info as never);
  return tool.around?.within === undefined ? call() : tool.around.within(call, aroundInfo(open));
}

/** As what is put around the tool would have it. Nothing is executed where the call is over before that has answered. */
async function executeAround(open: OpenCall, info: CallInfo, input: unknown): Promise<unknown> {
  const made = await open.tool.around?.input?.(input, aroundInfo(open));
  if (info.isOver) throw new DOMException('The call is over.', 'AbortError');
  return execute(open, info, made);
}

function outcomeOf({ tool, call }: OpenCall, info: CallInfo, settled: Settled<unknown>): Outcome {
  switch (settled.kind) {
    case 'value':
      info.end();
      return { kind: 'value', value: settled.value };
    case 'threw':
      info.end();
      return failed(tool, settled.error);
    case 'late':
      info.end(new DOMException(`${tool.name} took longer than ${tool.timeoutMs} ms.`, 'TimeoutError'));
      return {
        kind: 'end',
        end: tool.repeatable
          ? errorEnd({
              status: 'error',
              errorClass: 'timeout',
              summary: `${tool.name}${namedArguments(tool, call.input)} took longer than ${tool.timeoutMs} ms and was stopped.`,
              retryable: true,
            })
          : unknownEnd(tool.name, `it took longer than ${tool.timeoutMs} ms`),
      };
    case 'stopped':
      info.end();
      return { kind: 'end', end: unknownEnd(tool.name, 'the run was stopped before its result was seen') };
    default:
      return settled satisfies never;
  }
}

/** Which arguments a call had, in the words of the tool's schema: tells equal tools' calls apart without a value. */
function namedArguments({ input }: ToolSpec, given: JsonObject): string {
  const { properties } = input.json;
  const names = typeof properties === 'object' && properties !== null ? Object.keys(properties).filter((name) => name in given) : [];
  return names.length === 0 ? '' : ` with ${names.join(', ')}`;
}

/** What a thrown or returned error of a tool says of it. */
export function failed(tool: ToolSpec, thrown: unknown): Extract<Outcome, { kind: 'error' }> {
  const own = readToolError(thrown);
  let words: unknown;
  try {
    words = own?.message ?? (thrown instanceof Error ? thrown.message : thrown);
  } catch {
    // A message that throws says nothing.
  }
  // One sentence, no stack: the first line of the message.
  const line = typeof words === 'string' ? (words.split('\n')[0] ?? '').trim() : '';
  return {
    kind: 'error',
    summary: line === '' ? `${tool.name} failed.` : `${tool.name} failed: ${line}`,
    errorClass: own?.errorClass ?? 'failed',
    retryable: own?.retryable ?? false,
    ...(own && isFinal(own) ? { isFinal: true as const } : {}),
  };
}
