import { readFileSync } from 'node:fs';
import type { Log } from '@guardloop/core';
import { resume } from '@guardloop/core';
import { auditLog, normalLog } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import { makeDesk, runDesk } from './fixtures/desk.js';

const read = (version: string): Log => JSON.parse(readFileSync(new URL(`./fixtures/log-${version}.json`, import.meta.url), 'utf8')) as Log;

/** One log for each released version; a released one is never changed. */
const versions = ['0.1.0'];

describe.each(versions)('the kept log of version %s', (version) => {
  it('passes the audit', () => {
    expect(auditLog(read(version))).toEqual([]);
  });

  it('still resumes to its end', async () => {
    const { triage, guardrails } = makeDesk();
    const log = read(version);
    const waiting = await resume(triage, log, { guardrails });
    expect(waiting.status).toBe('interrupted');
    const result = await resume(triage, log, { guardrails, decisions: { 'r1/p1': 'approve' } });
    expect(result).toMatchObject({ status: 'completed', agent: 'billing', output: 'Refunded to ####.' });
    expect(auditLog(result.log)).toEqual([]);
    expect(result.log.events.slice(0, log.events.length)).toEqual(log.events);
  });
});

it('this version writes everything that stands in the newest kept log, and may add fields to it', async () => {
  const { log } = await runDesk();
  expect(normalLog(log)).toMatchObject(normalLog(read(versions.at(-1) ?? '')));
});

it('a log of another version, or a damaged one, is refused before anything is run', async () => {
  const { triage } = makeDesk();
  const log = read('0.1.0');
  await expect(resume(triage, { ...log, version: 2 } as never).result).rejects.toMatchObject({ code: 'LOG_INVALID' });
  await expect(resume(triage, { ...log, events: log.events.slice(1) }).result).rejects.toMatchObject({ code: 'LOG_INVALID' });
  await expect(resume(triage, { version: 1, events: [{ type: 'secret.event', text: 'CANARY' }] } as never).result).rejects.toSatisfy(
    (error: Error) => !error.message.includes('CANARY'),
  );
});

it('a log that is still a text is refused in words that say to parse it, and do not quote it', async () => {
  const { triage } = makeDesk();
  await expect(resume(triage, JSON.stringify(read('0.1.0')) as never).result).rejects.toMatchObject({
    code: 'LOG_INVALID',
    message: 'The log is a text. Give it parsed, as it was in `result.log`: JSON.parse(text).',
  });
});
