import type { WireMessage } from './blocks.js';
import { isThinking } from './blocks.js';

const forms = new WeakMap<WireMessage, WireMessage>();

/** The messages without the thinking of earlier answers. Messages without any stay the same objects. */
export function withoutThinking(messages: readonly WireMessage[]): readonly WireMessage[] {
  return messages.map((message) => {
    if (message.role === 'user') return message;
    let form = forms.get(message);
    if (form === undefined) {
      form = message.content.some(isThinking) ? { ...message, content: message.content.filter((block) => !isThinking(block)) } : message;
      forms.set(message, form);
    }
    return form;
  });
}
