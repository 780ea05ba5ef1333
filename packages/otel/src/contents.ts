import type { AssistantMessage, InputAcceptEvent, JsonValue, ModelEndEvent, Part, UserMessage } from '@guardloop/core';
import type { Attributes } from '@opentelemetry/api';
import { finishReason } from './finish-reason.js';
import { genAi } from './names.js';
import type { ContentPlace, Settings } from './options.js';
import { safely } from './safely.js';

/** What was said, as attributes: only what the log holds, which has passed its guardrails, and only as `redact` leaves it. */
export class Contents {
  constructor(private readonly settings: NonNullable<Settings['contents']>) {}

  input({ items, agent }: InputAcceptEvent): Attributes {
    const messages = items.map((item) => ({ role: item.role, parts: this.parts(textsOf(item), { what: 'input', agent }) }));
    return { [genAi.inputMessages]: JSON.stringify(messages) };
  }

  /** Only of answers that were recorded. */
  answer({ text, agent, stopReason = 'stop' }: Pick<ModelEndEvent, 'text' | 'agent' | 'stopReason'>): Attributes {
    const parts = this.parts(text === '' ? [] : [text], { what: 'output', agent });
    return { [genAi.outputMessages]: JSON.stringify([{ role: 'assistant', parts, finish_reason: finishReason[stopReason] }]) };
  }

  arguments(input: JsonValue, place: Omit<ContentPlace, 'what'>): Attributes {
    return this.one(genAi.callArguments, JSON.stringify(input), { what: 'arguments', ...place });
  }

  result(content: string | readonly Part[], place: Omit<ContentPlace, 'what'>): Attributes {
    const text =
      typeof content === 'string' ? content : content.map((part) => (part.type === 'text' ? part.text : `[${part.type}]`)).join('\n');
    return this.one(genAi.callResult, text, { what: 'result', ...place });
  }

  private one(name: string, text: string, place: ContentPlace): Attributes {
    const left = this.redacted(text, place);
    return left === undefined ? {} : { [name]: left };
  }

  private parts(texts: readonly string[], place: ContentPlace): readonly object[] {
    return texts.flatMap((text) => {
      const content = this.redacted(text, place);
      return content === undefined ? [] : [{ type: 'text', content }];
    });
  }

  private redacted(text: string, place: ContentPlace): string | undefined {
    const { redact, maxChars } = this.settings;
    const left: unknown = safely('redact', () => redact(text, place));
    return typeof left === 'string' ? cut(left, maxChars) : undefined;
  }
}

/** Never in the middle of a character: half of one is no text that a collector could read. */
const cut = (text: string, most: number): string => text.slice(0, most).replace(/[\uD800-\uDBFF]$/, '');

function textsOf(item: UserMessage | AssistantMessage): readonly string[] {
  if (item.role === 'assistant') return [item.text];
  return item.parts.map((part) => (part.type === 'text' ? part.text : `[${part.type}]`));
}
