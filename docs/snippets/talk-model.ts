// #region model
import type { Model, ModelEvent, ModelRequest, ProviderWords, Send, StreamOptions } from '@guardloop/core/model';
import { HttpCall, namesByWire } from '@guardloop/core/model';
import { Answer } from './talk-answer.js';
import { provider, Requests } from './talk-request.js';

const words: ProviderWords = { provider, name: 'The talk server', requestIdHeader: 'x-request-id', connectionErrors: [], statusOfWord: {} };

export interface TalkOptions {
  readonly url: string;
  readonly key?: string;
  /** In place of the global `fetch`. */
  readonly fetch?: typeof fetch;
}

/** A model behind the talk API. */
export function talk(id: string, { url, key = '', fetch: send = fetch }: TalkOptions): Model {
  const requests = new Requests(id);
  const post =
    (body: object, headers: ModelRequest['settings']['headers']): Send =>
    async (signal, attempts) => {
      attempts.begin();
      const response = await send(`${url}/talk`, {
        method: 'POST',
        headers: { ...headers, authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
        signal,
      });
      if (response.ok) return response;
      await response.body?.cancel(); // it may repeat what was sent: only status and headers are looked at
      throw Object.assign(new Error('bad status'), { status: response.status, headers: response.headers });
    };
  return {
    id,
    provider,
    stream(request: ModelRequest, { signal, onConnect }: StreamOptions): AsyncIterable<ModelEvent> {
      const call: HttpCall = new HttpCall({ words, model: id, signal, onConnect, maxEventChars: 1024 * 1024 });
      const answer = new Answer(namesByWire(request.tools.map(({ name }) => name)), (what) => call.protocolError(what, true));
      return call.run(
        () => {
          const { body, warnings } = requests.make(request);
          return { send: post(body, request.settings.headers), sink: answer, warnings };
        },
        () => answer.finish(call.requests),
      );
    },
  };
}
// #endregion
