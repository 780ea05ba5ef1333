// The only file of the client that needs Node: it starts a server as a process of this machine.
import { statSync } from 'node:fs';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { RequestFailure } from './failure.js';
import { WatchedTransport } from './watched-transport.js';

export interface StdioPlace {
  readonly serverName: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | undefined;
  /** What the process writes to its standard error: to nobody, to that of this process, or to a function, as it comes. */
  readonly stderr: 'ignore' | 'inherit' | ((text: string) => void);
  readonly maxMessageBytes: number;
}

export function openStdio(place: StdioPlace): WatchedTransport {
  const { serverName, stderr } = place;
  const transport = new ProgramTransport(place);
  if (typeof stderr === 'function') {
    const decoder = new TextDecoder();
    transport.stderr?.on('data', (chunk: Uint8Array) => {
      try {
        stderr(decoder.decode(chunk, { stream: true }));
      } catch {
        // Whoever listens may not stop the server.
      }
    });
  }
  const watched = new WatchedTransport(transport, serverName);
  watched.ending = (wasReady) => {
    const how = transport.howItEnded;
    if (wasReady) return `The connection to server ${serverName} was lost: its program ${how}.`;
    const hint =
      stderr === 'ignore' ? "Give `stderr: 'inherit'` to see what it writes about it." : 'What it wrote about it went to `stderr`.';
    return `Server ${serverName} cannot be connected: its program ${how} before it was ready. ${hint}`;
  };
  return watched;
}

interface Program {
  readonly exitCode?: number | null;
  readonly signalCode?: string | null;
}

class ProgramTransport extends StdioClientTransport {
  private readonly place: StdioPlace;
  private program: Program = {};

  constructor(place: StdioPlace) {
    const { command, args, env, cwd, stderr, maxMessageBytes } = place;
    super({
      command,
      args: [...args],
      env: { ...env },
      stderr: typeof stderr === 'function' ? 'pipe' : stderr,
      maxBufferSize: maxMessageBytes,
      ...(cwd === undefined ? {} : { cwd }),
    });
    this.place = place;
  }

  /** The SDK tells nobody how its process ended; where it keeps that elsewhere one day, only that it did is said. */
  get howItEnded(): string {
    const { exitCode, signalCode } = this.program;
    if (typeof exitCode === 'number') return `ended with code ${exitCode}`;
    return typeof signalCode === 'string' ? `was ended by ${signalCode}` : 'ended';
  }

  override async start(): Promise<void> {
    const { cwd, serverName } = this.place;
    // Node says the same of a missing folder as of a missing command.
    if (cwd !== undefined && !isFolder(cwd))
      throw new RequestFailure('unreachable', `Server ${serverName} cannot be started: its \`cwd\` is no folder that is there.`);
    const starting = super.start();
    this.program = (this as unknown as { readonly _process?: Program })._process ?? {};
    await starting;
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
