export { openai, openai as openaiChat } from './chat/model.js';
export type { ChatDialect, ChatOptions, Prices } from './chat/options.js';
export type { ClientOptions } from './client.js';
