// The page as a person meets it: in a real browser, without a network.
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Log } from '@guardloop/core';
import { guardReport, reportHtml } from '@guardloop/core/report';
import { auditLog } from '@guardloop/testing';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { chromium } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { marker, pieces, poison } from './hostile.js';
import { longLog, sessionLog, waitingLog } from './stories.js';

/** Debian's; another one by the environment. */
const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';
const isThere = existsSync(executablePath);
const folder = mkdtempSync(join(tmpdir(), 'guardloop-report-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function write(name: string, log: Log): string {
  const path = join(folder, `${name}.html`);
  writeFileSync(path, reportHtml(guardReport(log, { findings: auditLog(log) }), { title: name }));
  return pathToFileURL(path).href;
}

const missing = `NOT TESTED: there is no Chromium at ${executablePath}. Install it (Debian: apt-get install chromium), or set CHROMIUM to one.`;
if (!isThere) process.stderr.write(`${missing}\n`);

// Counted as skipped, by a name that says why, where there is no browser.
describe.skipIf(!isThere)(isThere ? 'the page' : missing, () => {
  let browser: Browser;
  let story = '';
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'] });
    story = write('A session', await sessionLog());
  }, 60_000);
  afterAll(() => browser.close());

  /** What went wrong while a page was open: requests, errors, broken policies, dialogs. */
  async function open<T>(
    url: string,
    look: (page: Page, trouble: string[]) => Promise<T>,
    options: BrowserContextOptions = {},
  ): Promise<T> {
    const context = await browser.newContext({ viewport: { width: 1100, height: 800 }, reducedMotion: 'reduce', ...options });
    const trouble: string[] = [];
    try {
      const page = await context.newPage();
      page.on('request', (request) => request.url() !== url && trouble.push(`request ${request.url()}`));
      page.on('console', (message) => trouble.push(`console ${message.text()}`));
      page.on('pageerror', (error) => trouble.push(`error ${error.message}`));
      page.on('dialog', (dialog) => trouble.push(`dialog ${dialog.message()}`));
      await page.goto(url);
      return await look(page, trouble);
    } finally {
      await context.close();
    }
  }
  const status = (page: Page) => page.locator('#count').textContent();
  const shown = (page: Page) => page.locator('.entry:visible').count();
  const focused = (page: Page) => page.evaluate(() => document.activeElement?.id ?? '');

  it('needs nothing but itself, and nothing in it fails', async () => {
    await open(story, async (page, trouble) => {
      await page.locator('#theme').click();
      await page.locator('#find').fill('refund');
      await expect.poll(() => status(page)).toContain('of');
      expect(trouble).toEqual([]);
      // The policy holds: nothing can be fetched from within.
      expect(
        await page.evaluate(() =>
          fetch('https://example.invalid/').then(
            () => 'sent',
            () => 'kept back',
          ),
        ),
      ).toBe('kept back');
    });
  });

  it('runs nothing of a hostile log, and makes no element of it', async () => {
    const log = await sessionLog();
    const words = [...pieces.map((piece) => `${piece}${marker}`), pieces.join('')];
    for (const word of words.slice(-3)) {
      await open(write('hostile', poison(log, word)), async (page, trouble) => {
        await page.locator('#find').fill(marker.toLowerCase());
        await page.locator('.issues a').first().click();
        expect(await page.evaluate((name) => name in window, marker)).toBe(false);
        expect(
          await page.locator('img, iframe, svg, object, embed, link, base, script:not(body > script), a:not([href^="#"])').count(),
        ).toBe(0);
        expect(
          await page.evaluate(() =>
            [...document.querySelectorAll('*')]
              .flatMap((each) => each.getAttributeNames())
              .filter((name) => /^on|^style$|^src$/.test(name)),
          ),
        ).toEqual([]);
        expect(trouble).toEqual([]);
      });
    }
  });

  it('filters by words, surface, answer, agent and guardrail, says how many are left, and shows all again', async () => {
    await open(story, async (page) => {
      const total = await page.locator('.entry').count();
      expect(await status(page)).toBe(`Showing all ${total} entries.`);
      await page.getByLabel('Surface', { exact: true }).selectOption('toolOutput');
      expect(await status(page)).toBe(`Showing 3 of ${total} entries.`);
      expect(await shown(page)).toBe(3);
      await page.getByLabel('Answer', { exact: true }).selectOption('rewrote');
      expect(await shown(page)).toBe(1);
      expect(await page.locator('.entry:visible').textContent()).toContain('find');
      // The run around it stays, the others go.
      expect(await page.locator('.run:visible').count()).toBe(2);
      await page.getByRole('button', { name: 'Reset' }).click();
      await expect.poll(() => shown(page)).toBe(total);
      await page.getByLabel('Agent', { exact: true }).selectOption('billing');
      const ofBilling = await page.locator('.entry:visible .agent').allTextContents();
      expect(new Set(ofBilling)).toEqual(new Set(['billing']));
      await page.getByLabel('Agent', { exact: true }).selectOption('');
      await page.getByLabel('Guardrail', { exact: true }).selectOption('large');
      expect(await shown(page)).toBe(1);
      await page.getByLabel('Guardrail', { exact: true }).selectOption('');
      await page.getByLabel('Search the entries').fill('SECRET  word');
      await expect.poll(() => shown(page)).toBe(4);
      await page.getByLabel('Search the entries').fill('no such words');
      await expect.poll(() => status(page)).toContain('Nothing fits');
      expect(await shown(page)).toBe(0);
    });
  });

  it('leads from what was stopped to where it fell, through any filter', async () => {
    await open(story, async (page) => {
      await page.getByLabel('Agent', { exact: true }).selectOption('clerk');
      await page.locator('.issues a', { hasText: 'remove' }).click();
      const entry = page.locator('.entry > article:focus');
      expect(await entry.textContent()).toContain('no-secrets refused');
      await expect.poll(() => entry.evaluate((each) => each.getBoundingClientRect().top < innerHeight)).toBe(true);
      expect(await page.getByLabel('Agent', { exact: true }).inputValue()).toBe('');
    });
  });

  it('is walked by keys: skip link, search, entries, folds, help', async () => {
    await open(story, async (page) => {
      await page.keyboard.press('Tab');
      expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Skip to the timeline');
      await page.keyboard.press('/');
      expect(await focused(page)).toBe('find');
      await page.keyboard.type('j/?');
      expect(await page.locator('#find').inputValue()).toBe('j/?');
      await page.keyboard.press('Escape');
      expect(await page.locator('#find').inputValue()).toBe('');
      // From the search through the filters to one entry, and from there out of the list.
      for (let index = 0; index < 5; index += 1) await page.keyboard.press('Tab');
      expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Reset');
      await page.keyboard.press('Tab');
      const ids = await page.locator('.entry').evaluateAll((all) => all.map(({ lastElementChild }) => lastElementChild?.id ?? ''));
      expect(await focused(page)).toBe(ids[0]);
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('j');
      expect(await focused(page)).toBe(ids[2]);
      await page.keyboard.press('k');
      await page.keyboard.press('ArrowUp');
      await page.keyboard.press('ArrowUp');
      expect(await focused(page)).toBe(ids[0]);
      await page.keyboard.press('Enter');
      expect(await page.locator('.entry > article:focus details[open]').count()).toBeGreaterThan(0);
      await page.keyboard.press('Enter');
      expect(await page.locator('.entry > article:focus details[open]').count()).toBe(0);
      await page.keyboard.press('End');
      expect(await focused(page)).toBe(ids.at(-1));
      await page.keyboard.press('Home');
      // What has the focus is seen to have it.
      expect(await page.locator('.entry > article:focus').evaluate((each) => getComputedStyle(each).outlineStyle)).toBe('solid');
      await page.keyboard.press('?');
      expect(await page.getByRole('dialog', { name: 'Keyboard' }).isVisible()).toBe(true);
      await page.getByLabel('Keys of one sign').uncheck();
      await page.keyboard.press('Escape');
      await page.locator(`#${ids[0]}`).focus();
      await page.keyboard.press('j');
      expect(await focused(page)).toBe(ids[0]);
      await page.keyboard.press('ArrowDown');
      expect(await focused(page)).toBe(ids[1]);
    });
  });

  it('walks over what the filters left', async () => {
    await open(story, async (page) => {
      await page.getByLabel('Agent', { exact: true }).selectOption('clerk');
      await page.locator('body').press('j');
      await page.keyboard.press('j');
      expect(await page.locator('.entry > article:focus .agent').textContent()).toBe('clerk');
      expect(await focused(page)).toBe(await page.locator('.entry:visible > article').nth(1).getAttribute('id'));
    });
  });

  it('follows the colours of the system and a switch, with contrast enough in both', async () => {
    const background = (page: Page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    for (const colorScheme of ['light', 'dark'] as const) {
      await open(
        story,
        async (page) => {
          const before = await background(page);
          expect(await tooFaint(page)).toEqual([]);
          await page.getByRole('button', { name: colorScheme === 'dark' ? 'Switch to light colours' : 'Switch to dark colours' }).click();
          expect(await background(page)).not.toBe(before);
          expect(await tooFaint(page)).toEqual([]);
        },
        { colorScheme },
      );
    }
  });

  it('fits a phone of 360 pixels, hostile and endless words too', async () => {
    const endless = poison(await waitingLog(), 'x'.repeat(300));
    for (const url of [story, write('endless', endless)])
      await open(
        url,
        async (page) => {
          await page.evaluate(() => {
            for (const each of document.querySelectorAll('details')) each.open = true;
          });
          expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
          const small = await page
            .locator('button:visible, select:visible, input[type=search]:visible')
            .evaluateAll((all) => all.filter((each) => each.getBoundingClientRect().height < 40).length);
          expect(small).toBe(0);
        },
        { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true },
      );
  });

  it('has landmarks, headings in order, names for all controls, and says nothing by colour alone', async () => {
    await open(story, async (page) => {
      for (const role of ['banner', 'main', 'contentinfo', 'search'] as const) expect(await page.getByRole(role).count()).toBe(1);
      const tree = await page.locator('body').ariaSnapshot();
      expect(tree).toContain('heading "Timeline" [level=2]');
      expect(tree).toMatch(/article "Tool call remove"/);
      expect(tree).toContain('group "Guardrails on toolOutput"');
      expect(tree).toContain('searchbox "Search the entries"');
      const levels = await page.locator('h1,h2,h3,h4,h5,h6').evaluateAll((all) => all.map((each) => Number(each.tagName.slice(1))));
      expect(levels[0]).toBe(1);
      expect(levels.every((level, index) => index === 0 || level <= (levels[index - 1] ?? 0) + 1)).toBe(true);
      const nameless = await page.locator('button, select, input, [role=group], section').evaluateAll(
        (all) =>
          all.filter((each) => {
            const labels = 'labels' in each ? (each as HTMLInputElement).labels : null;
            const by = each.getAttribute('aria-labelledby');
            return !(
              labels?.length ||
              each.getAttribute('aria-label') ||
              (by && document.getElementById(by)?.textContent) ||
              each.textContent?.trim()
            );
          }).length,
      );
      expect(nameless).toBe(0);
      expect(await page.locator('#count').getAttribute('aria-live')).toBe('polite');
      // Every answer stands in words, whatever its colour.
      const words = await page.locator('.verdict .did').allTextContents();
      expect(words.length).toBeGreaterThan(20);
      expect(words.every((text) => /allowed|rewrote|asked|refused|stopped|would have/.test(text))).toBe(true);
      const ids = await page.evaluate(() => [...document.querySelectorAll('[id]')].map(({ id }) => id));
      expect(new Set(ids).size).toBe(ids.length);
    });
  });

  it('moves nothing for those who want no motion', async () => {
    const behaviour = (page: Page) => page.evaluate(() => getComputedStyle(document.documentElement).scrollBehavior);
    expect(await open(story, behaviour)).toBe('auto');
    expect(await open(story, behaviour, { reducedMotion: 'no-preference' })).toBe('smooth');
  });

  it('is read without scripts: all of it, without filters', async () => {
    await open(
      story,
      async (page) => {
        expect(await shown(page)).toBe(await page.locator('.entry').count());
        expect(await page.locator('#filters').isVisible()).toBe(false);
        expect(await page.locator('#theme').isVisible()).toBe(false);
        const fold = page.locator('details').first();
        await fold.locator('summary').click();
        expect(await fold.locator('.verdict').first().isVisible()).toBe(true);
      },
      { javaScriptEnabled: false },
    );
  });

  it('prints light, unfolded and without controls', async () => {
    await open(
      story,
      async (page) => {
        await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
        expect(await page.locator('#filters').isVisible()).toBe(false);
        expect(await page.evaluate(() => getComputedStyle(document.body).backgroundColor)).toBe('rgb(255, 255, 255)');
        expect(await page.evaluate(() => getComputedStyle(document.body).color)).toBe('rgb(27, 32, 38)');
        expect(
          await page
            .locator('details .verdict')
            .first()
            .evaluate((each) => each.getBoundingClientRect().height),
        ).toBeGreaterThan(0);
        expect((await page.pdf()).length).toBeGreaterThan(10_000);
      },
      { colorScheme: 'dark' },
    );
  });

  it('stays quick with ten thousand events', async () => {
    const log = await longLog(2);
    const rounds = Math.ceil(10_000 / log.events.length);
    const events = Array.from({ length: rounds }, (_, round) => log.events.map((event) => ({ ...event, run: `${event.run}-${round}` })))
      .flat()
      .map((event, index) => ({ ...event, seq: index + 1 }));
    await open(write('long', { version: 1, events }), async (page) => {
      const total = await page.locator('.entry').count();
      expect(total).toBeGreaterThan(1_000);
      const began = performance.now();
      await page.getByLabel('Answer', { exact: true }).selectOption('stopped the run');
      await expect.poll(() => status(page)).toBe(`Showing ${rounds} of ${total.toLocaleString('en-US')} entries.`.replaceAll(',', ''));
      await page.locator('body').press('j');
      expect(await page.locator('.entry > article:focus').count()).toBe(1);
      expect(performance.now() - began).toBeLessThan(8_000);
    });
  }, 60_000);
});

/** Text whose contrast with what is behind it is below 4.5, or 3 where it is large. */
async function tooFaint(page: Page): Promise<readonly string[]> {
  return page.evaluate(() => {
    const read = (colour: string): readonly number[] => (colour.match(/[\d.]+/g) ?? []).map(Number);
    const light = (colour: readonly number[]): number => {
      const [red = 0, green = 0, blue = 0] = colour.map((part) =>
        part / 255 <= 0.03928 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4,
      );
      return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    };
    const behind = (element: Element): readonly number[] => {
      for (let each: Element | null = element; each; each = each.parentElement) {
        const colour = read(getComputedStyle(each).backgroundColor);
        if ((colour[3] ?? 1) > 0) return colour;
      }
      return [255, 255, 255];
    };
    const faint = new Set<string>();
    for (const element of document.querySelectorAll('body *')) {
      const hasText = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent?.trim());
      if (!hasText || !(element as HTMLElement).offsetParent) continue;
      const style = getComputedStyle(element);
      const [above = 0, below = 0] = [light(read(style.color)), light(behind(element))].sort((left, right) => right - left);
      const ratio = (above + 0.05) / (below + 0.05);
      const size = Number.parseFloat(style.fontSize);
      const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
      if (ratio < (isLarge ? 3 : 4.5)) faint.add(`${element.tagName}.${element.className} ${ratio.toFixed(2)}`);
    }
    return [...faint];
  });
}
