import type { ClientOptions } from './client.js';

/** The name of the server that requests go to: what it made for itself alone is not sent to another. A port is no part of it. */
export function serverOf({ baseURL, client }: Pick<ClientOptions, 'baseURL' | 'client'>): string {
  const url = baseURL ?? client?.baseURL;
  return url !== undefined && URL.canParse(url) ? new URL(url).hostname : 'api.openai.com';
}
