import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { FakeProvider, Seen } from './fake-provider.js';
import { startFakeProvider } from './fake-provider.js';
import { root, snippetFiles } from './pages.js';

let provider: FakeProvider;

/** Asks for a refund that is too large, or for an order, then says what came of it. */
function answer({ tools, results }: Seen): { text: string } | { tool: string; input: object } {
  if (tools.includes('refund_order') && results.length === 0) return { tool: 'refund_order', input: { orderId: 'o1', cents: 12_000 } };
  if (tools.includes('find_order') && results.length === 0) return { tool: 'find_order', input: { orderId: 'o1' } };
  return { text: results.at(-1) === undefined ? 'Hello.' : `I was told: ${results.at(-1)}` };
}

beforeAll(async () => {
  provider = await startFakeProvider(answer);
  vi.stubEnv('OPENAI_BASE_URL', provider.chatUrl);
  vi.stubEnv('OPENAI_API_KEY', 'test');
  vi.stubEnv('ANTHROPIC_BASE_URL', provider.messagesUrl);
  vi.stubEnv('ANTHROPIC_API_KEY', 'test');
  vi.spyOn(console, 'log').mockImplementation(() => undefined);
  vi.spyOn(console, 'dir').mockImplementation(() => undefined);
  vi.spyOn(process.stdout, 'write').mockImplementation(() => true);
});
afterAll(async () => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  await provider.close();
});

test.each(snippetFiles().filter((path) => !path.endsWith('.test.ts')))(
  '%s runs to its end, and every request of it is legal',
  async (path) => {
    await import(join(root, path));
    expect(provider.faults).toEqual([]);
  },
);
