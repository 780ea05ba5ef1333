import { expect, test, vi } from 'vitest';

test('the example prints one trace of both parts of the run, and holds what it asserts', async () => {
  const log = vi.spyOn(console, 'log').mockImplementation(() => undefined);
  await import('./main.js');
  expect(log.mock.calls.flat().join('\n')).toMatch(/^trace [0-9a-f]{32}\ninvoke_agent desk: interrupted\n/);
  log.mockRestore();
});
