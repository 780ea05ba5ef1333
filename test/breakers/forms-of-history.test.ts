import type { HandoffEvent, Log, LogEvent } from '@guardloop/core';
import { allow, defineAgent, defineGuardrail, deny, handoff, memorySession, rewrite, run } from '@guardloop/core';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { expect, it } from 'vitest';

const redact = (name: string) =>
  defineGuardrail({
    name,
    on: ['input'],
    rewrite: ({ content }) => (content.includes('CANARY') ? rewrite(content.replaceAll('CANARY', '[name]'), 'a name') : allow()),
  });
const toBillingTwice = () =>
  scriptedModel([
    callTool('transfer_to_billing', {}),
    callTool('transfer_to_triage', {}),
    callTool('transfer_to_billing', {}),
    say('done'),
  ]);
const seenBy = ({ requests }: ReturnType<typeof scriptedModel>): readonly (readonly [string, boolean])[] =>
  requests.map(({ agent, messages }) => [agent, JSON.stringify(messages).includes('CANARY')]);

/** A session in which a guardrail that was not there at first has rewritten the history for agent triage. */
async function sessionWithRewrittenHistory() {
  const session = { store: memorySession(), id: 's' };
  const guardrails = [redact('redact')];
  const triage = (model: ReturnType<typeof scriptedModel>) => defineAgent({ name: 'triage', instructions: '', model });
  await run(triage(scriptedModel([say('hello CANARY')])), 'I am CANARY', { session });
  const model = scriptedModel([say('two')]);
  await run(triage(model), 'go', { session, guardrails });
  expect(seenBy(model)).toEqual([['triage', false]]);
  return { session, guardrails };
}

it('a history that was rewritten for one agent is put to the same guardrail again where another is to see it as it is recorded', async () => {
  const { session, guardrails } = await sessionWithRewrittenHistory();
  const model = scriptedModel([callTool('transfer_to_billing', {}), say('done')]);
  const billing = defineAgent({ name: 'billing', instructions: '', model });
  const triage = defineAgent({ name: 'triage', instructions: '', model, handoffs: [billing] });
  const { status, log } = await run(triage, 'on', { session, guardrails });
  expect(status).toBe('completed');
  expect(seenBy(model)).toEqual([
    ['triage', false],
    ['billing', false],
  ]);
  expect(auditLog(log)).toEqual([]);
});

it('nor does it come back where another agent takes a session over', async () => {
  const { session, guardrails } = await sessionWithRewrittenHistory();
  const model = scriptedModel([say('three')]);
  const { status, log } = await run(defineAgent({ name: 'other', instructions: '', model }), 'go', { session, guardrails });
  expect(status).toBe('completed');
  expect(seenBy(model)).toEqual([['other', false]]);
  expect(auditLog(log)).toEqual([]);
});

it('the agent that sees it rewritten is not asked about it again in its next run', async () => {
  const { session, guardrails } = await sessionWithRewrittenHistory();
  const { log } = await run(defineAgent({ name: 'triage', instructions: '', model: scriptedModel([say('three')]) }), 'on', {
    session,
    guardrails,
  });
  const last = log.events.findLastIndex(({ type }) => type === 'run.start');
  const asked = log.events.slice(last).flatMap((event) => (event.type === 'guard.verdict' ? [event.subject] : []));
  expect(asked).toHaveLength(1);
  expect(auditLog(log)).toEqual([]);
});

it('what a target rewrote on its way in is rewritten again when the target gets the conversation once more', async () => {
  const model = toBillingTwice();
  const billing = defineAgent({ name: 'billing', instructions: '', model, handoffs: ['triage'], guardrails: [redact('own')] });
  const { log } = await run(defineAgent({ name: 'triage', instructions: '', model, handoffs: [billing] }), 'I am CANARY');
  expect(seenBy(model)).toEqual([
    ['triage', true],
    ['billing', false],
    ['triage', true],
    ['billing', false],
  ]);
  expect(auditLog(log)).toEqual([]);
});

it('what a filter took out of the history is judged when a handoff without it brings it in', async () => {
  const own = defineGuardrail({
    name: 'own',
    on: ['input'],
    check: ({ content }) => (content.includes('CANARY') ? deny('no names') : allow()),
  });
  const model = scriptedModel([callTool('filtered', {}), callTool('transfer_to_triage', {}), callTool('plain', {}), say('done')]);
  const billing = defineAgent({ name: 'billing', instructions: '', model, handoffs: ['triage'], guardrails: [own] });
  const filtered = handoff(billing, {
    name: 'filtered',
    history: (messages) =>
      messages.map((message) => (message.role === 'user' ? { ...message, parts: [{ type: 'text' as const, text: 'clean' }] } : message)),
  });
  const handoffs = [filtered, handoff(billing, { name: 'plain' })];
  const { log } = await run(defineAgent({ name: 'triage', instructions: '', model, handoffs }), 'I am CANARY');
  expect(seenBy(model)).toEqual([
    ['triage', true],
    ['billing', false],
    ['triage', true],
    ['triage', true],
  ]);
  expect(auditLog(log)).toEqual([]);
});

it('an audit finds a handoff that brings in as it is recorded what was rewritten before', async () => {
  const model = toBillingTwice();
  const billing = defineAgent({ name: 'billing', instructions: '', model, handoffs: ['triage'], guardrails: [redact('own')] });
  const { log } = await run(defineAgent({ name: 'triage', instructions: '', model, handoffs: [billing] }), 'I am CANARY');
  const last = log.events.findLast((event): event is HandoffEvent => event.type === 'handoff');
  if (last === undefined) throw new Error('No handoff.');
  const item = `${last.run}/i1`;
  const isOfItem = (event: LogEvent): boolean => event.type === 'guard.verdict' && event.subject === item;
  const asked = log.events.findLast(isOfItem);
  const unasked: HandoffEvent = {
    ...last,
    view: 'all',
    revisions: undefined,
    answers: last.answers?.replace('r', ''),
    entry: { ...last.entry, revision: 0, judged: last.entry.judged.filter((id) => id !== item) },
  };
  const events = log.events.flatMap((event) => (event === last ? [unasked] : event === asked ? [] : [event]));
  const altered: Log = { ...log, events: events.map((event, index) => ({ ...event, seq: index + 1 })) };
  const findings = auditLog(altered).filter((finding) => finding.includes(item));
  expect(findings).toEqual([
    expect.stringMatching(/agent billing will see item .*\/i1, which agent guardrail own has not judged on input/),
  ]);
});
