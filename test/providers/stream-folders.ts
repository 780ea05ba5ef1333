import type { Dialect } from './wire-request.js';

/**
 * The recorded streams of each dialect. They are written from the shapes that the providers document, and from what the servers that
 * imitate them are known to send.
 */
export const streamFolders: { readonly [K in Dialect]: URL } = {
  chat: new URL('../fixtures/streams/openai.chat/', import.meta.url),
  responses: new URL('../fixtures/streams/openai.responses/', import.meta.url),
  messages: new URL('../fixtures/streams/anthropic.messages/', import.meta.url),
};
