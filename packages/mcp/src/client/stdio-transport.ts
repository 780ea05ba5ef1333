// The only file of the client that needs Node: it starts a server as a process of this machine.
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
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

export function openStdio({ serverName, command, args, env, cwd, stderr, maxMessageBytes }: StdioPlace): WatchedTransport {
  const transport = new StdioClientTransport({
    command,
    args: [...args],
    env: { ...env },
    stderr: typeof stderr === 'function' ? 'pipe' : stderr,
    maxBufferSize: maxMessageBytes,
    ...(cwd === undefined ? {} : { cwd }),
  });
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
  return new WatchedTransport(transport, serverName);
}
