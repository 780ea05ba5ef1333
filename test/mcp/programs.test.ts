import { fileURLToPath } from 'node:url';
import { defineAgent, run } from '@guardloop/core';
import { mcpServer } from '@guardloop/mcp';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { expect, it, onTestFinished } from 'vitest';

const program = `
  import { allow, defineAgent, defineGuardrail, halt } from '@guardloop/core';
  import { serveAgent } from '@guardloop/mcp';
  import { say, scriptedModel } from '@guardloop/testing';
  const guard = defineGuardrail({ name: 'g', on: ['input'], check: ({ content }) => (content.includes('secret') ? halt('no') : allow()) });
  const agent = defineAgent({ name: 'desk', description: 'Answers.', instructions: '', model: scriptedModel([say('From afar.')]), guardrails: [guard] });
  await serveAgent(agent).stdio();
`;

it('an agent is served over standard input and output, with its guardrails, and ends with its client', async () => {
  const far = await mcpServer({
    name: 'far',
    command: process.execPath,
    args: ['--input-type=module', '-e', program],
    cwd: fileURLToPath(new URL('..', import.meta.url)),
  });
  onTestFinished(() => far.close());
  expect(far.tools.map(({ name }) => name)).toEqual(['far__desk']);
  const model = scriptedModel([callTool('far__desk', { input: 'hello' }), callTool('far__desk', { input: 'secret' }), say('ok')]);
  const result = await run(defineAgent({ name: 'a', instructions: '', model, tools: [...far.tools] }), 'go');
  expect(result.events.flatMap((event) => (event.type === 'tool.end' ? [[event.status, event.label.integrity]] : []))).toEqual([
    ['ok', 'untrusted'],
    ['error', 'untrusted'],
  ]);
  expect(auditLog(result.log)).toEqual([]);
});
