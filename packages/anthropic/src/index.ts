export type { AnthropicOptions } from './anthropic.js';
export { anthropic } from './anthropic.js';
export type { ClientOptions, MessagesClient } from './client.js';
export type { ThinkingOptions } from './thinking.js';
export type { ProviderTool } from './tool-fields.js';
export type { AnthropicPrices } from './usage.js';
