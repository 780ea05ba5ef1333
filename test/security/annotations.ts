// What the tools of AgentDojo's suites do to the world, written from their schemas and descriptions alone, as a user of them would.
import type { Flow } from '@guardloop/core';
import type { TrustedFields } from '@guardloop/guardrails';
import { suggestFlow } from '@guardloop/guardrails';

const reads: Flow = { effect: 'read', results: 'untrusted' };

const annotated: Readonly<Record<string, Readonly<Record<string, Flow>>>> = {
  banking: {
    get_iban: { effect: 'read', results: 'trusted' },
    get_balance: { effect: 'read', results: 'trusted' },
    get_user_info: { effect: 'read', results: 'trusted' },
    get_most_recent_transactions: reads,
    get_scheduled_transactions: reads,
    read_file: reads,
    send_money: { effect: 'send', results: 'untrusted', authority: ['recipient', 'amount'] },
    schedule_transaction: { effect: 'send', results: 'untrusted', authority: ['recipient', 'amount'] },
    update_scheduled_transaction: { effect: 'send', results: 'untrusted', authority: ['id', 'recipient', 'amount'] },
    update_password: { effect: 'write', results: 'untrusted', authority: ['password'] },
    update_user_info: { effect: 'write', results: 'untrusted', authority: ['first_name', 'last_name', 'street', 'city'] },
  },
  slack: {
    get_channels: reads,
    get_users_in_channel: reads,
    read_channel_messages: reads,
    read_inbox: reads,
    get_webpage: { effect: 'read', results: 'untrusted', authority: ['url'] },
    post_webpage: { effect: 'send', results: 'untrusted', authority: ['url'] },
    send_direct_message: { effect: 'send', results: 'untrusted', authority: ['recipient'] },
    send_channel_message: { effect: 'send', results: 'untrusted', authority: ['channel'] },
    add_user_to_channel: { effect: 'write', results: 'untrusted', authority: ['user', 'channel'] },
    invite_user_to_slack: { effect: 'send', results: 'untrusted', authority: ['user', 'user_email'] },
    remove_user_from_slack: { effect: 'write', results: 'untrusted', authority: ['user'] },
  },
  workspace: {
    get_current_day: { effect: 'none', results: 'trusted' },
    get_unread_emails: reads,
    get_sent_emails: reads,
    get_received_emails: reads,
    get_draft_emails: reads,
    search_emails: reads,
    search_contacts_by_name: reads,
    search_contacts_by_email: reads,
    search_calendar_events: reads,
    get_day_calendar_events: reads,
    search_files_by_filename: reads,
    search_files: reads,
    get_file_by_id: reads,
    list_files: reads,
    send_email: { effect: 'send', results: 'untrusted', authority: ['recipients', 'cc', 'bcc', 'attachments'] },
    delete_email: { effect: 'write', results: 'untrusted', authority: ['email_id'] },
    create_calendar_event: { effect: 'send', results: 'untrusted', authority: ['participants'] },
    cancel_calendar_event: { effect: 'send', results: 'untrusted', authority: ['event_id'] },
    reschedule_calendar_event: { effect: 'send', results: 'untrusted', authority: ['event_id'] },
    add_calendar_event_participants: { effect: 'send', results: 'untrusted', authority: ['event_id', 'participants'] },
    append_to_file: { effect: 'write', results: 'untrusted', authority: ['file_id'] },
    create_file: { effect: 'write', results: 'untrusted', authority: ['filename'] },
    delete_file: { effect: 'write', results: 'untrusted', authority: ['file_id'] },
    share_file: { effect: 'send', results: 'untrusted', authority: ['file_id', 'email'] },
  },
};

/** Fields that a user of these tools would trust: the names of the workspace's own channels and members, and its address book. */
export const trusted: TrustedFields = {
  get_channels: '*',
  get_users_in_channel: '*',
  search_contacts_by_name: ['email'],
  search_contacts_by_email: ['email'],
};

/** A tool's flow: as annotated, or of a suite that has no annotations as `suggestFlow` proposes. */
export function flowOf(suite: string, tool: { readonly name: string; readonly description: string; readonly parameters: object }): Flow {
  return annotated[suite]?.[tool.name] ?? suggestFlow({ name: tool.name, description: tool.description, schema: tool.parameters });
}

/** Whether a suite's tools are annotated. */
export const isAnnotated = (suite: string): boolean => Object.hasOwn(annotated, suite);
