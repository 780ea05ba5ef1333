import { fitsPattern, GuardloopError } from '@guardloop/core';
import { suggest } from '@guardloop/core/model';
import type { Implementation } from '@modelcontextprotocol/sdk/types.js';
import { Connection } from './connection.js';
import type { Definition } from './definition.js';
import type { DescriptionCheck } from './description-check.js';
import { listAll } from './listing.js';
import type { McpTool } from './offer.js';
import { offerTool } from './offer.js';
import { opener } from './opener.js';
import type { LocalServerOptions, McpServerOptions, McpWarning, RemoteServerOptions } from './options.js';
import { checkOptions, invalid } from './options.js';
import type { Pin } from './pins.js';
import { readPins } from './pins.js';
import type { McpPrompts } from './prompts.js';
import { promptsOf } from './prompts.js';
import type { McpResources } from './resources.js';
import { resourcesOf } from './resources.js';
import { showName } from './show-text.js';
import { StandingTools } from './standing-tools.js';
import type { Refusal, RefusedTool, Survey } from './survey.js';
import { surveyTools } from './survey.js';
import { mcpToolName } from './tool-names.js';
import { unavailableOf } from './unavailable.js';

/** A server as it is connected. */
export interface McpServer<C = unknown> {
  /** What it is called here. */
  readonly name: string;
  /** For `defineAgent`. Their results are untrusted unless `flow` says otherwise. They stay the same for as long as this object lives. */
  readonly tools: readonly McpTool<C>[];
  /** Allowed tools that are not offered, and why. */
  readonly refused: readonly RefusedTool[];
  readonly resources: McpResources<C>;
  readonly prompts: McpPrompts;
  /**
   * What the server says of itself; undefined while it is not connected. Text of an untrusted party: `instructions` is given to no model.
   */
  readonly about: { readonly name: string; readonly version: string; readonly instructions: string | undefined } | undefined;
  /** The server's own name of a tool, by the name under which it is offered; undefined for another. */
  originalName(offered: string): string | undefined;
  /** Ends the connection; a program that was started is stopped. Calls under way end as failures, later ones are refused. */
  close(): Promise<void>;
}

interface Insides {
  readonly serverName: string;
  readonly offered: readonly Definition[];
  readonly refused: readonly Refusal[];
  readonly standing: ReadonlyMap<string, Pin>;
}
const insides = new WeakMap<object, Insides>();

/** What `pinsOf` and `approvePins` read. Throws CONFIG_INVALID for what `mcpServer` did not make. */
export function insidesOf(server: McpServer<never>): Insides {
  return insides.get(server) ?? invalid('This is no server that `mcpServer` has made. Give what it resolves to.');
}

const clientInfo: Implementation = { name: 'guardloop', version: '0.1.0' };
const defaults = { connectTimeoutMs: 10_000, requestTimeoutMs: 60_000, maxMessageBytes: 10_000_000, maxDescriptionChars: 4_000 };

/**
 * Connects a server, looks at its tools, and offers those that are allowed, approved and fit to be read. Rejects with CONFIG_INVALID for wrong
 * options, and with `McpUnavailable` where the server cannot be connected or does not list its tools, unless `onUnavailable` is `skip`.
 */
export function mcpServer<C = unknown>(options: LocalServerOptions<C>): Promise<McpServer<C>>;
export function mcpServer<C = unknown>(options: RemoteServerOptions<C>): Promise<McpServer<C>>;
export function mcpServer<C = unknown>(options: McpServerOptions<C>): Promise<McpServer<C>>;
export async function mcpServer<C = unknown>(options: McpServerOptions<C>): Promise<McpServer<C>> {
  checkOptions(options);
  const pins = options.pins === undefined ? undefined : await readPins(options.pins, options.name);
  const made = new ServerInUse<C>(options, pins);
  return made.begin();
}

const mostToldRefused = 20;

class ServerInUse<C> {
  private readonly options: McpServerOptions<C>;
  private readonly pins: ReadonlyMap<string, Pin> | undefined;
  private readonly connection: Connection;
  private readonly requestTimeoutMs: number;
  private readonly standing: StandingTools;
  private readonly toldRefused = new Set<string>();

  constructor(options: McpServerOptions<C>, pins: ReadonlyMap<string, Pin> | undefined) {
    this.options = options;
    this.pins = pins;
    this.requestTimeoutMs = options.requestTimeoutMs ?? defaults.requestTimeoutMs;
    this.connection = new Connection({
      serverName: options.name,
      clientInfo,
      connectTimeoutMs: options.connectTimeoutMs ?? defaults.connectTimeoutMs,
      requestTimeoutMs: this.requestTimeoutMs,
      open: opener(options, { maxMessageBytes: options.maxMessageBytes ?? defaults.maxMessageBytes }),
      onRenewed: () => this.standing.lookAgain(),
      onListChanged: (list) => {
        if (list === 'tools') this.standing.lookAgain();
      },
      onRefused: (method) => this.tellRefused(showName(method)),
    });
    this.standing = new StandingTools(this.connection, {
      serverName: options.name,
      timeoutMs: this.requestTimeoutMs,
      allow: options.allow,
      trustsHints: options.hints === 'trust',
      warn: (warning) => this.warn(warning),
    });
  }

  async begin(): Promise<McpServer<C>> {
    const { name } = this.options;
    let survey: Survey;
    let isThere = true;
    try {
      survey = await this.survey();
      this.refuseUnknownNames(survey.names);
    } catch (thrown) {
      if (GuardloopError.is(thrown)) return this.giveUp(thrown);
      const failure = unavailableOf(name, thrown);
      if (this.options.onUnavailable !== 'skip') return this.giveUp(failure);
      this.warn({ kind: 'unavailable', message: failure.message });
      isThere = false;
      survey = this.fromPins();
    }
    const { tools, refused, offered } = await this.offer(survey, isThere ? this.options.approval : this.cautious(survey.names));
    // The tools of pins are not known to be the server's: its list is looked at before the first call.
    if (!isThere) this.standing.lookAgain();
    const names = new Map(offered.map((definition) => [mcpToolName(name, definition.name), definition.name]));
    const server: McpServer<C> = Object.freeze({
      name,
      tools: Object.freeze(tools),
      refused: Object.freeze(
        refused.map(({ tool, why, reason, diff }) => Object.freeze({ tool, why, reason, ...(diff === undefined ? {} : { diff }) })),
      ),
      resources: resourcesOf<C>(this.connection, {
        serverName: name,
        timeoutMs: this.requestTimeoutMs,
        guardrails: this.options.guardrails,
      }),
      prompts: promptsOf(this.connection, { serverName: name, timeoutMs: this.requestTimeoutMs }),
      get about() {
        return about();
      },
      originalName: (tool: string) => names.get(tool),
      close: () => this.connection.close(),
    });
    const about = (): McpServer<C>['about'] => {
      const { info, instructions } = this.connection.about ?? {};
      return info && { name: info.name, version: info.version, instructions };
    };
    insides.set(server, { serverName: name, offered, refused, standing: this.standing.pins });
    return server;
  }

  private async survey(): Promise<Survey> {
    const { name, allow, checkDescription = [], maxDescriptionChars = defaults.maxDescriptionChars } = this.options;
    await this.connection.connect();
    const hasTools = this.connection.about?.capabilities.tools !== undefined;
    const entries = hasTools ? await listAll(this.connection, { list: 'tools', serverName: name, timeoutMs: this.requestTimeoutMs }) : [];
    return surveyTools(entries, {
      serverName: name,
      allow,
      pins: this.pins,
      trustsHints: this.options.hints === 'trust',
      maxDescriptionChars,
      checks: Array.isArray(checkDescription) ? (checkDescription as readonly DescriptionCheck[]) : [checkDescription as DescriptionCheck],
    });
  }

  private fromPins(): Survey {
    const { allow } = this.options;
    const offered = [...(this.pins?.values() ?? [])]
      .filter((pin) => !allow || allow.some((pattern) => fitsPattern(pattern, pin.name)))
      .map(
        ({ name, digest, description, input, output, hints }): Definition => ({
          name,
          digest,
          description,
          input,
          output,
          hints,
          needsTask: false,
        }),
      );
    return { offered, refused: [], names: offered.map(({ name }) => name) };
  }

  private async offer(
    { offered, refused }: Survey,
    approval: boolean | readonly string[] | undefined,
  ): Promise<{
    readonly tools: readonly McpTool<C>[];
    readonly offered: readonly Definition[];
    readonly refused: readonly Refusal[];
  }> {
    const { name, flow, guardrails, project, hints } = this.options;
    const made: { readonly tool: McpTool<C>; readonly definition: Definition }[] = [];
    const all = [...refused];
    for (const definition of offered) {
      try {
        const tool = offerTool<C>(this.connection, definition, {
          serverName: name,
          flow,
          approval,
          guardrails,
          project,
          trustsHints: hints === 'trust',
          stillStands: (tool, signal) => this.standing.fault(tool, signal),
        });
        made.push({ tool, definition });
      } catch (thrown) {
        // What the user said of the tool is the user's to correct; what the server says costs the tool.
        if (GuardloopError.is(thrown) && /`flow\.authority`|Guardrail |guardrails/.test(thrown.message)) return this.giveUp(thrown);
        all.push({
          tool: definition.name,
          why: 'definition',
          reason: GuardloopError.is(thrown) ? thrown.message : `Tool ${showName(definition.name)} cannot be used as it is defined.`,
        });
      }
    }
    const counts = new Map<string, number>();
    for (const { tool } of made) counts.set(tool.name, (counts.get(tool.name) ?? 0) + 1);
    const unique = made.filter(({ tool, definition }) => {
      if (counts.get(tool.name) === 1) return true;
      all.push({
        tool: definition.name,
        why: 'definition',
        reason: `Tool ${showName(definition.name)} would have the same name as another one here.`,
      });
      return false;
    });
    for (const { definition } of unique) this.standing.hold(definition);
    for (const { tool, reason } of all) this.warn({ kind: 'tool-refused', tool, message: reason });
    return { tools: unique.map(({ tool }) => tool), offered: unique.map(({ definition }) => definition), refused: all };
  }

  /** Without the server's list a name in `approval` may be a typo or a tool that is not pinned: then a person decides about every call. */
  private cautious(names: readonly string[]): boolean | readonly string[] | undefined {
    const { approval } = this.options;
    if (typeof approval !== 'object') return approval;
    return approval.every((given) => names.some((tool) => fitsPattern(given, tool))) ? approval : true;
  }

  /** A name that is not a pattern has to be one of the server's, or pinned: else a typo would leave a tool without its approval or flow. */
  private refuseUnknownNames(listed: readonly string[]): void {
    const { name, allow = [], flow = {}, approval } = this.options;
    const known = new Set([...listed, ...(this.pins?.keys() ?? [])]);
    const said: readonly (readonly [string, readonly string[]])[] = [
      ['allow', allow],
      ['flow', Object.keys(flow)],
      ['approval', typeof approval === 'object' ? approval : []],
    ];
    for (const [option, names] of said) {
      for (const given of names) {
        const fits = given.includes('*') ? option === 'allow' || [...known].some((tool) => fitsPattern(given, tool)) : known.has(given);
        if (fits) continue;
        const shown = [...known].slice(0, 40).map(showName);
        invalid(
          `\`${option}\` of MCP server ${name} is about ${showName(given)}, but the server has no such tool. ${suggest(given, shown)}Its tools are ${shown.join(', ') || 'none'}.`,
        );
      }
    }
  }

  private async giveUp(thrown: Error): Promise<never> {
    await this.connection.close();
    throw thrown;
  }

  /** Once for each kind of request, and of so many kinds: a server may ask as often as it likes. */
  private tellRefused(method: string): void {
    if (this.toldRefused.has(method) || this.toldRefused.size >= mostToldRefused) return;
    this.toldRefused.add(method);
    this.warn({ kind: 'request-refused', message: `It asked for ${method}, which this client refuses.` });
  }

  private warn(warning: Omit<McpWarning, 'server'>): void {
    try {
      this.options.onWarning?.({ server: this.options.name, ...warning });
    } catch {
      // Whoever listens may not stop the server.
    }
  }
}
