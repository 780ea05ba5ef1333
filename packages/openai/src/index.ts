export type { Prices } from '@guardloop/core/model';
export type { ChatDialect, ChatServer, LackedSetting } from './chat/dialect.js';
export { openai, openai as openaiChat } from './chat/model.js';
export type { ChatOptions } from './chat/options.js';
export type { ClientOptions } from './client.js';
export { openaiResponses } from './responses/model.js';
export type { ResponsesOptions } from './responses/options.js';
export type { ProviderTool } from './responses/provider-tools.js';
