export type { Prices } from '@guardloop/core/model';
export { openai, openai as openaiChat } from './chat/model.js';
export type { ChatDialect, ChatOptions } from './chat/options.js';
export type { ClientOptions } from './client.js';
export { openaiResponses } from './responses/model.js';
export type { ResponsesOptions } from './responses/options.js';
export type { ProviderTool } from './responses/provider-tools.js';
