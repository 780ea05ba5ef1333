import { standIns } from '@guardloop/core/model';
import type OpenAI from 'openai';

export type WireMessage = OpenAI.Chat.ChatCompletionMessageParam;
type WireUser = OpenAI.Chat.ChatCompletionUserMessageParam;

const opening: WireUser = { role: 'user', content: standIns.opening };
const goOn: WireUser = { role: 'user', content: standIns.goOn };
const nothing: WireUser = { role: 'user', content: standIns.nothing };
const bridge: WireMessage = { role: 'assistant', content: '(The results are in.)' };

/** Adds a message in the order of strict chat templates. Messages that stand already are replaced where they change, never changed. */
export function addInTurn(messages: WireMessage[], next: WireMessage): void {
  const last = messages.at(-1);
  const isFirst = last === undefined || last.role === 'system' || last.role === 'developer';
  if (next.role === 'assistant') {
    if (isFirst) messages.push(opening);
    else if (last.role === 'assistant') messages.push(goOn);
  } else if (next.role === 'user' && last?.role === 'user') {
    messages[messages.length - 1] = merged(last, next);
    return;
  } else if (next.role === 'user' && last?.role === 'tool') {
    messages.push(bridge);
  }
  messages.push(next);
}

/** Ends the messages with something to answer. */
export function endInTurn(messages: WireMessage[]): void {
  const role = messages.at(-1)?.role;
  if (role === 'assistant') messages.push(goOn);
  else if (role !== 'user' && role !== 'tool') messages.push(nothing);
}

function merged(first: WireUser, second: WireUser): WireUser {
  if (first.content === '') return second;
  if (second.content === '') return first;
  if (typeof first.content === 'string' && typeof second.content === 'string')
    return { role: 'user', content: `${first.content}\n\n${second.content}` };
  return { role: 'user', content: [...partsOf(first), ...partsOf(second)] };
}

function partsOf({ content }: WireUser): readonly OpenAI.Chat.ChatCompletionContentPart[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content;
}
