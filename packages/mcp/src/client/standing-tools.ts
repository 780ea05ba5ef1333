import { fitsPattern, toolError } from '@guardloop/core';
import type { Connection } from './connection.js';
import type { Definition } from './definition.js';
import { readDefinition } from './definition.js';
import { failureOf, RequestFailure } from './failure.js';
import { listAll } from './listing.js';
import type { McpWarning } from './options.js';
import type { Pin } from './pins.js';
import { digestOf, pinOf } from './pins.js';
import { showName } from './show-text.js';
import { changeFrom } from './survey.js';
import { unavailableOf } from './unavailable.js';

interface StandingSettings {
  readonly serverName: string;
  readonly timeoutMs: number;
  readonly allow: readonly string[] | undefined;
  readonly trustsHints: boolean;
  readonly warn: (warning: Omit<McpWarning, 'server'>) => void;
}

const mostToldNew = 1_000;

/** The tools as they were when they were offered, and whether the server still has them so. */
export class StandingTools {
  readonly pins = new Map<string, Pin>();
  private readonly connection: Connection;
  private readonly settings: StandingSettings;
  private mustLook = false;
  /** How the server has them now, once for all calls that wait. */
  private current: Promise<ReadonlyMap<string, Definition>> | undefined;
  /** Digests of changed tools that the host was told of, and names of new ones: once each. */
  private readonly toldChanged = new Set<string>();
  private readonly toldNew = new Set<string>();

  constructor(connection: Connection, settings: StandingSettings) {
    this.connection = connection;
    this.settings = settings;
  }

  hold(tool: Definition): void {
    this.pins.set(tool.name, pinOf(tool));
  }

  /** The server's list may be another one now. */
  lookAgain(): void {
    this.current = undefined;
    this.mustLook = true;
  }

  /**
   * Before a call: why the tool may not be called as the server has it now; undefined where it may. The list is read again only where the
   * server said that it changed, after a new connection, or where it was not read yet.
   */
  async fault(tool: Definition, signal: AbortSignal): Promise<RequestFailure | Error | undefined> {
    const { serverName } = this.settings;
    try {
      // A new connection asks for a new look: connect first.
      await this.connection.connect(signal);
      if (!this.mustLook) return undefined;
      this.current ??= this.list();
      const now = await this.current;
      return this.judge(tool, now.get(tool.name));
    } catch (thrown) {
      this.current = undefined;
      if (signal.aborted) return new RequestFailure('aborted', 'The call was stopped.', 'no');
      const { message, needsSignIn } = unavailableOf(serverName, thrown);
      const isClosed = failureOf(thrown)?.kind === 'closed';
      return new RequestFailure(needsSignIn ? 'unauthorized' : isClosed ? 'closed' : 'unreachable', message, 'no');
    }
  }

  private judge(tool: Definition, now: Definition | undefined): Error | undefined {
    const { serverName, trustsHints, warn } = this.settings;
    if (now === undefined)
      return toolError(`server ${serverName} has this tool no more. It did not run.`, { errorClass: 'not_found', retryable: false });
    const change = changeFrom(this.pins.get(tool.name), now, trustsHints);
    if (change === undefined) return undefined;
    if (!this.toldChanged.has(now.digest)) {
      this.toldChanged.add(now.digest);
      const message = `Tool ${showName(tool.name)} is not as it was approved any more; its calls are refused.`;
      warn({ kind: 'tools-changed', tool: tool.name, message });
    }
    const words = `server ${serverName} has changed this tool since it was approved, so it is not called. A person has to approve it anew.`;
    return toolError(words, { errorClass: 'denied', retryable: false });
  }

  private async list(): Promise<ReadonlyMap<string, Definition>> {
    const { serverName, timeoutMs } = this.settings;
    const entries = await listAll(this.connection, { list: 'tools', serverName, timeoutMs });
    const tools = new Map<string, Definition>();
    const twice = new Set<string>();
    for (const entry of entries) {
      const read = readDefinition(entry);
      if ('fault' in read) continue;
      if (tools.has(read.name)) twice.add(read.name);
      if (this.pins.has(read.name)) tools.set(read.name, { ...read, digest: await digestOf(read).catch(() => '') });
      else this.tellNew(read.name);
    }
    for (const name of twice) tools.delete(name);
    return tools;
  }

  private tellNew(tool: string): void {
    const { allow, warn } = this.settings;
    if (this.toldNew.size > mostToldNew || this.toldNew.has(tool)) return;
    if (allow && !allow.some((pattern) => fitsPattern(pattern, tool))) return;
    this.toldNew.add(tool);
    const message = `Tool ${showName(tool)} is not among those that were offered when the server was connected; it is not called.`;
    warn({ kind: 'tools-changed', tool, message });
  }
}
