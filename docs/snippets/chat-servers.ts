import assert from 'node:assert/strict';
// #region named
import { openai } from '@guardloop/openai';

const local = openai('qwen3', { dialect: 'vllm', baseURL: 'http://127.0.0.1:8000/v1', apiKey: 'none' });
const gemma = openai('gemma-3', {
  dialect: 'vllm',
  baseURL: 'http://127.0.0.1:8001/v1',
  apiKey: 'none',
  roleOrder: 'alternating',
  media: [],
});
// #endregion
assert.deepEqual([local.id, gemma.id, local.provider], ['qwen3', 'gemma-3', 'openai.chat']);

// #region azure
import { AzureOpenAI } from 'openai';

const azure = (baseURL: string, apiKey: string) =>
  openai('my-deployment', { dialect: 'azure', client: new AzureOpenAI({ baseURL, apiKey, apiVersion: '2025-04-01-preview' }) });
// #endregion
assert.equal(azure('https://example.openai.azure.com/openai', 'key').id, 'my-deployment');
