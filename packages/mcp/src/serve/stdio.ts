// The only file of the server's side, beside node-http.ts, that needs Node.
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';

export function stdioTransport(): Transport {
  return new StdioServerTransport();
}
