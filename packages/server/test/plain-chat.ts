// A chat of the AI SDK without a framework.
import type { ChatState, ChatStatus, UIMessage } from 'ai';
import { AbstractChat, DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from 'ai';
import { expect } from 'vitest';
import type { Scene } from './scene.js';

class PlainState implements ChatState<UIMessage> {
  status: ChatStatus = 'ready';
  error: Error | undefined;
  messages: UIMessage[] = [];
  pushMessage = (message: UIMessage): void => {
    this.messages = [...this.messages, message];
  };
  popMessage = (): void => {
    this.messages = this.messages.slice(0, -1);
  };
  replaceMessage = (index: number, message: UIMessage): void => {
    this.messages = this.messages.with(index, message);
  };
  snapshot = <T>(thing: T): T => structuredClone(thing);
}
const answering =
  (onAnswer: () => void): typeof fetch =>
  async (...request) => {
    const response = await fetch(...request);
    onAnswer();
    return response;
  };
type ChatOptions = ConstructorParameters<typeof AbstractChat<UIMessage>>[0];
/** What `useChat` of a framework wraps, over a plain array of messages. */
export class PlainChat extends AbstractChat<UIMessage> {
  constructor(
    scene: Scene,
    agent: string,
    {
      person = 'anna',
      id = 'chat-1',
      messages = [] as UIMessage[],
      isAutomatic = true,
      onAnswer = (): void => undefined,
      when = lastAssistantMessageIsCompleteWithApprovalResponses as ChatOptions['sendAutomaticallyWhen'],
      onToolCall = undefined as ChatOptions['onToolCall'],
    } = {},
  ) {
    const state = new PlainState();
    state.messages = messages;
    super({
      id,
      state,
      transport: new DefaultChatTransport({
        api: `${scene.url}/v1/ai/${agent}`,
        headers: { authorization: `Bearer ${person}` },
        fetch: answering(onAnswer),
      }),
      ...(isAutomatic && when !== undefined ? { sendAutomaticallyWhen: when } : {}),
      ...(onToolCall === undefined ? {} : { onToolCall }),
    });
  }
}
export const settle = (chat: PlainChat): Promise<void> =>
  expect.poll(() => chat.status, { timeout: 15_000 }).toBe('ready') as unknown as Promise<void>;
