import type { LogEvent } from '@guardloop/core';
import { guardReport, reportHtml } from '@guardloop/core/report';
import { beforeAll, describe, expect, it } from 'vitest';
import { longLog } from './stories.js';

let events: readonly LogEvent[] = [];

/** So many events: the runs of one log again and again, the last of which was blocked. */
function repeated(log: readonly LogEvent[], count: number): readonly LogEvent[] {
  return Array.from({ length: Math.ceil(count / log.length) }, (_, round) =>
    log.map((event) => ({ ...event, run: `${event.run}-${round}` })),
  )
    .flat()
    .map((event, index) => ({ ...event, seq: index + 1 }));
}

beforeAll(async () => {
  events = (await longLog(3)).events;
});

describe('a log of ten thousand events', () => {
  it('makes a page below 5 MB, which holds all that was objected to and says what it left out', () => {
    const report = guardReport(repeated(events, 10_000));
    const page = reportHtml(report);
    expect(Buffer.byteLength(page)).toBeLessThan(5_000_000);
    expect(report.events).toBeGreaterThanOrEqual(10_000);
    const blocked = report.runs.filter(({ status }) => status === 'blocked').length;
    expect(page.match(/Run ended<\/span>[^\n]*<span class="badge bad">blocked/g)).toHaveLength(blocked);
    const small = reportHtml(report, { maxBytes: 1_000_000 });
    expect(Buffer.byteLength(small)).toBeLessThan(1_000_000);
    expect(small.match(/Run ended<\/span>[^\n]*<span class="badge bad">blocked/g)).toHaveLength(blocked);
    const [, told = ''] = /To keep the page small, ([\d,]+) entries without any objection are not on it/.exec(small) ?? [];
    const shown = small.match(/<li class="entry /g)?.length ?? 0;
    const total = report.runs.reduce((sum, { entries }) => sum + entries.length, 0);
    expect(Number(told.replaceAll(',', '')) + shown).toBe(total);
    expect(small).toMatch(/\d entr(y|ies) without any objection left out here/);
  });

  it('with long contents in every event still fits, with shorter texts', () => {
    const long = repeated(events, 3_000).map((event) =>
      event.type === 'tool.end' ? { ...event, content: `${'ä'.repeat(1_900)} end`, chars: 1_904 } : event,
    );
    const page = reportHtml(guardReport(long), { maxBytes: 2_000_000 });
    expect(Buffer.byteLength(page)).toBeLessThan(2_000_000);
    expect(page).toMatch(/Texts are shown up to [\d,]+ characters/);
    expect(page).toMatch(/[\d,]+ more characters in the log/);
  });
});
