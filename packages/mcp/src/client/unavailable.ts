import { McpError } from '@modelcontextprotocol/sdk/types.js';
import { failureOf } from './failure.js';
import { showName } from './show-text.js';

/** A server that could not be connected, or did not list its tools. */
export class McpUnavailable extends Error {
  override readonly name = 'McpUnavailable';
  readonly server: string;
  /** A person has to sign in first: the provider in `auth` was given the address. */
  readonly needsSignIn: boolean;

  constructor(server: string, message: string, needsSignIn: boolean) {
    super(message);
    this.server = server;
    this.needsSignIn = needsSignIn;
  }
}

/** What was thrown while a server was connected or its list read, in our own words. */
export function unavailableOf(server: string, thrown: unknown): McpUnavailable {
  const failure = failureOf(thrown);
  if (failure) return new McpUnavailable(server, failure.message, failure.kind === 'unauthorized');
  if (thrown instanceof McpError)
    return new McpUnavailable(server, `Server ${server} does not list its tools: error ${showName(String(thrown.code))}.`, false);
  return new McpUnavailable(server, `Server ${server} gives answers that cannot be read.`, false);
}
