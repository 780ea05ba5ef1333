import { createHash } from 'node:crypto';
import type { Log } from '@guardloop/core';
import { run } from '@guardloop/core';
import { guardReport, reportHtml, reportMarkdown } from '@guardloop/core/report';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { makeWorld } from '../promises/world.js';
import { marker, pieces, poison } from './hostile.js';
import { secret, sessionLog, waitingLog } from './stories.js';

const words = fc
  .array(fc.oneof(fc.constantFrom(...pieces), fc.string({ maxLength: 4 })), { minLength: 1, maxLength: 4 })
  .map((list) => `${list.join('')}${marker}`);

/** Tags and attributes that our templates have. Anything else in a page came out of a log. */
const tags = new Set(
  'html head meta title style body a header div h1 h2 h3 h4 h5 h6 p button main section dl dt dd span ul ol li form label input select option time article bdi code details summary table caption thead tbody tr th td footer dialog kbd script'.split(
    ' ',
  ),
);
const attributes = new Set(
  'lang charset http-equiv content name class href dir type id hidden aria-labelledby aria-label aria-hidden aria-haspopup aria-live role for value data-field data-surface data-action data-agent data-guardrail autocomplete spellcheck tabindex datetime title scope colspan checked'.split(
    ' ',
  ),
);

/** Whatever in a page is markup and not ours. */
function strays(page: string): readonly string[] {
  const found: string[] = [];
  const own = page.replace(/<style>[\s\S]*?<\/style>/, '').replace(/<script>[\s\S]*?<\/script>\n<\/body>/, '');
  for (const [tag] of own.matchAll(/<[^>]*>?/g)) {
    if (tag === '<!doctype html>') continue;
    const match = /^<\/?([a-z0-9]+)((?:\s+[a-z-]+(?:="[^"<>]*")?)*)\s*>$/.exec(tag);
    if (match === null || !tags.has(match[1] ?? '')) found.push(tag);
    else for (const [, name = ''] of (match[2] ?? '').matchAll(/([a-z-]+)(?:="[^"]*")?/g)) if (!attributes.has(name)) found.push(tag);
  }
  for (const [, target = ''] of own.matchAll(/ href="([^"]*)"/g)) if (!/^#[a-z0-9-]+$/i.test(target)) found.push(target);
  return found;
}

/** Markdown without what stands in code. */
function withoutCode(markdown: string): string {
  const left: string[] = [];
  let fence: string | undefined;
  for (const line of markdown.split(/\r\n|\r|\n/)) {
    const ticks = /^ *(`{3,})(?:text)?$/.exec(line)?.[1];
    if (fence === undefined && ticks !== undefined) fence = ticks;
    else if (fence !== undefined) fence = ticks !== undefined && ticks.length >= fence.length && !line.endsWith('text') ? undefined : fence;
    else left.push(line.replace(/(?<!`)(`+)(?!`)(.*?[^`])\1(?!`)/g, ''));
  }
  expect(fence).toBeUndefined();
  return left.join('\n');
}

describe('every log', () => {
  it('of hostile words makes a page without markup of its own, and Markdown whose words all stand in code', async () => {
    const logs = [await sessionLog(), await waitingLog()];
    fc.assert(
      fc.property(words, fc.nat({ max: 1 }), (word, which) => {
        const report = guardReport(poison(logs[which] as Log, word), { findings: [word] });
        const page = reportHtml(report, { title: word, about: word });
        expect(page).toContain(marker);
        expect(strays(page)).toEqual([]);
        const left = withoutCode(reportMarkdown(report));
        expect(left).not.toContain(marker);
        expect(left).not.toMatch(/<|\]\(/);
        // Nothing steers the line, or hides in it.
        expect(page).not.toMatch(/[\p{Cf}\p{Cs}\0]/u);
      }),
      { numRuns: 60 },
    );
  });

  it('makes a report that holds no word which the log does not hold', async () => {
    const flat = (text: string): string => text.replace(/\\+[nrtu]|[\\\s"]/g, '');
    const own = new Set([
      'input',
      'turn',
      'call',
      'handoff',
      'resume',
      'end',
      'open',
      'waiting',
      'interrupted',
      'all',
      'assistant',
      'done',
      'refused',
      'rejected',
      'aborted',
      'tool',
    ]);
    for (let seed = 0; seed < 40; seed += 1) {
      const world = makeWorld(seed, { refusals: 12, faults: 3 });
      const { log } = await run(world.start, 'please refund order o1', { guardrails: world.guardrails, runId: 'r1' });
      const held = flat(JSON.stringify(log));
      JSON.stringify(guardReport(log), (key, value: unknown) => {
        if (typeof value === 'string' && key !== 'kind' && !own.has(value)) expect(held).toContain(flat(JSON.stringify(value)));
        return value;
      });
    }
  });

  it('makes pages on which refused text does not stand, in none of their forms', async () => {
    for (const log of [await sessionLog(), await waitingLog()]) {
      const report = guardReport(log);
      for (const text of [JSON.stringify(report), reportHtml(report), reportMarkdown(report)]) {
        expect(text).toContain('a secret word');
        expect(text).not.toMatch(new RegExp(`${secret}|${Buffer.from(secret).toString('base64').slice(0, 9)}`, 'i'));
        expect(text).not.toContain('411-1');
      }
    }
  });
});

describe('the page', () => {
  it('takes a report from elsewhere, however its fields are, as text', async () => {
    const report = guardReport(await sessionLog());
    const odd = JSON.parse(JSON.stringify(report).replaceAll(/:(\d+)/g, `:"<img src=x onerror=${marker}>"`)) as typeof report;
    expect(strays(reportHtml(odd))).toEqual([]);
  });

  it('forbids the network and all scripts and styles but its own, by their hashes', async () => {
    const page = reportHtml(guardReport(await sessionLog()));
    const [, policy = ''] = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(page) ?? [];
    const hashOf = (tag: string): string => {
      const [, text = ''] = new RegExp(`<${tag}>([\\s\\S]*?)</${tag}>`).exec(page) ?? [];
      return `&#39;sha256-${createHash('sha256').update(text).digest('base64')}&#39;`;
    };
    expect(policy.split('; ')).toEqual([
      'default-src &#39;none&#39;',
      `style-src ${hashOf('style')}`,
      `script-src ${hashOf('script')}`,
      'base-uri &#39;none&#39;',
      'form-action &#39;none&#39;',
    ]);
    expect(page.match(/<script/g)).toHaveLength(1);
    expect(page).not.toMatch(/https?:\/\/|url\(|@import|innerHTML|insertAdjacentHTML|document\.write|eval\(/);
  });
});
