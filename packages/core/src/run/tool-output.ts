import type { ToolOutputSubject } from '../define/types.js';
import type { JsonValue, Label, Part } from '../model/types.js';
import { readJson } from './answer.js';
import type { Ruling } from './guard.js';
import { judge } from './guard.js';
import { graceMs } from './handle.js';
import type { OpenCall } from './open-call.js';
import { contentText, deepFreeze, plainOutput } from './plain-output.js';
import { guardsOfTool, standNow } from './plan.js';
import { rewriteText } from './rewrite-text.js';

/** The output in the form in which it goes through the guardrails. */
export interface Output {
  readonly content: string | readonly Part[];
  readonly value: JsonValue;
  /** `value` is not just the text. */
  readonly isStructured: boolean;
}

export function textOutput(text: string): Output {
  return { content: text, value: text, isStructured: false };
}

export function toOutput(value: unknown): Output {
  const plain = plainOutput(value);
  return { content: plain.content, value: plain.value, isStructured: !plain.isText };
}

interface OutputMatter {
  readonly output: Output;
  readonly form: ToolOutputSubject['form'];
  readonly isError: boolean;
  readonly label: Label;
}

/** Asks the guardrails on `toolOutput` about what a tool gave, its details, or what a projection made of it. */
export function judgeOutput(
  { handle, call, tool }: OpenCall,
  { output, form, isError, label }: OutputMatter,
): Ruling<Output> | Promise<Ruling<Output>> {
  return judge<Output>(handle, {
    surface: 'toolOutput',
    subject: form === 'output' ? call.path : `${call.path}/${form}`,
    revision: 0,
    value: output,
    guards: guardsOfTool(standNow(handle), 'toolOutput', tool.name),
    about: call.call.id,
    phases: 'both',
    canAsk: false,
    graceMs,
    isProjected: form === 'projected',
    toSubject: ({ content, value }): ToolOutputSubject => {
      const subject = {
        surface: 'toolOutput' as const,
        content: contentText(content),
        label,
        tool: tool.name,
        callId: call.call.id,
        input: call.input,
        output: value,
        isError,
        form,
      };
      return Object.freeze(form === 'projected' ? { ...subject, projected: true as const } : subject);
    },
    rewrite: (current, by) => rewriteOutput(current, by),
  });
}

function rewriteOutput(current: Output, by: unknown): { readonly value: Output } | undefined {
  if (typeof by === 'string' || Array.isArray(by)) {
    const text = rewriteText(contentText(current.content), by);
    if (text === undefined) return undefined;
    if (current.isStructured && typeof current.content === 'string') {
      const { value } = readJson(text);
      return value === undefined ? undefined : { value: { content: text, value, isStructured: true } };
    }
    if (typeof current.content === 'string') return { value: textOutput(text) };
    const parts: Part[] = [
      { type: 'text', text },
      ...(typeof by === 'string' ? [] : current.content.filter((part) => part.type !== 'text')),
    ];
    return { value: { content: deepFreeze(parts), value: text, isStructured: false } };
  }
  if (typeof by !== 'object' || by === null) return undefined;
  return { value: toOutput(by) };
}
