import type { Approval, Decision } from '@guardloop/core';
import type { RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js';
import type { ClientCapabilities, ServerNotification, ServerRequest } from '@modelcontextprotocol/sdk/types.js';
import { ElicitResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { showText } from '../client/show-text.js';
import type { DecideApproval } from './types.js';

export type CallExtra = RequestHandlerExtra<ServerRequest, ServerNotification>;

const mostChars = 2_000;
/** Of arguments: longer ones are put to nobody, since a person would approve what he has not seen. */
const mostInput = 8_000;
const cut = (text: string): string => showText(text.length > mostChars ? `${text.slice(0, mostChars)} […]` : text);

/** Asks the person at the client with a form, where the client says that it can show one. */
export function personAtClient(
  capabilities: ClientCapabilities | undefined,
  extra: CallExtra,
  timeoutMs: number,
): DecideApproval | undefined {
  const can = capabilities?.elicitation;
  // A client that names no kind takes forms; one that names only pages does not.
  if (can === undefined || (can.form === undefined && can.url !== undefined)) return undefined;
  return async (approval, call) => {
    const message = question(approval);
    if (message === undefined) return undefined;
    try {
      const { action, content } = await extra.sendRequest(
        {
          method: 'elicitation/create',
          params: {
            mode: 'form',
            message,
            requestedSchema: {
              type: 'object',
              properties: {
                decision: { type: 'string', title: 'Decision', enum: ['reject', 'approve'] },
                note: { type: 'string', title: 'Note', description: 'What the agent is told where you reject it.', maxLength: 1_000 },
              },
              required: ['decision'],
            },
          },
        },
        ElicitResultSchema,
        { signal: call.signal, timeout: timeoutMs },
      );
      return decisionOf(action, content);
    } catch {
      // Nobody answered, or the client cannot after all.
      return undefined;
    }
  };
}

/** Undefined for what cannot be asked of somebody outside: an answer that is held back, calls that the host runs itself, arguments too long to show. */
function question(approval: Approval): string | undefined {
  if (approval.surface === 'output' || (approval.surface === 'toolInput' && approval.caller === true)) return undefined;
  const input = approval.surface === 'handoff' ? '' : showText(JSON.stringify(approval.input));
  if (input.length > mostInput) return undefined;
  const what =
    approval.surface === 'handoff'
      ? `The agent ${approval.from} wants to hand over to ${approval.to}.`
      : `The agent wants to call ${approval.tool} with ${input}`;
  const before = approval.surface === 'toolInput' && approval.mayHaveRun ? '\nIt may have been done already.' : '';
  return `${what}\nWhy you are asked: ${cut(approval.reason)}${before}\nMay it?`;
}

function decisionOf(action: string, content: Readonly<Record<string, unknown>> | undefined): Decision | undefined {
  const rejected = { reject: 'A person has rejected it.' };
  if (action === 'decline') return rejected;
  if (action !== 'accept') return undefined;
  if (content?.decision === 'approve') return 'approve';
  const { note } = content ?? {};
  return content?.decision === 'reject'
    ? typeof note === 'string' && note.trim() !== ''
      ? { reject: note.slice(0, 1_000) }
      : rejected
    : undefined;
}
