// One request to the desk, from the first word to the end, with people's decisions on the way.
import type { Approval, Decision, Log, Model, RunResult, SessionReference } from '@guardloop/core';
import { resume, stream } from '@guardloop/core';
import { deskGuardrails, openDesk } from './desk.js';
import type { Narrator } from './narrator.js';
import type { Shop } from './shop.js';

export interface Conversation {
  readonly model: Model;
  readonly shop: Shop;
  readonly isGuarded: boolean;
  readonly narrator: Narrator;
  /** A person decides; undefined leaves the call waiting. */
  readonly decide: (approval: Approval) => Promise<Decision | undefined>;
  readonly session?: SessionReference | undefined;
  readonly signal?: AbortSignal | undefined;
}

export async function converse(text: string, conversation: Conversation): Promise<RunResult> {
  const { model, shop, isGuarded, narrator, decide, session, signal } = conversation;
  const options = { context: { customer: 'ada', shop }, guardrails: isGuarded ? deskGuardrails : [], signal };
  narrator.hear(text, { isEchoed: session !== undefined });
  let events = stream(openDesk(model, { isGuarded }), text, { ...options, session });
  for (;;) {
    for await (const event of events) narrator.see(event);
    const result = await events.result;
    if (result.status !== 'interrupted') return result;
    // The run lives in its log. It goes through JSON here, and on with agents built anew, as it would in another process.
    const saved = JSON.stringify(result.log);
    narrator.store(saved.length);
    const decisions: Record<string, Decision> = {};
    for (const approval of result.approvals) {
      const decision = await decide(approval);
      if (decision !== undefined) decisions[approval.id] = decision;
    }
    if (Object.keys(decisions).length === 0) return result;
    events = resume(openDesk(model, { isGuarded }), session ?? (JSON.parse(saved) as Log), { ...options, decisions });
  }
}
