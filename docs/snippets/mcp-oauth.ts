import assert from 'node:assert/strict';
import type { OAuthState } from '@guardloop/mcp';

const secrets = new Map<string, OAuthState>();
const openBrowser = async (address: URL): Promise<void> => void console.log(address.href);

// #region oauth
import { McpUnavailable, mcpServer, oauth } from '@guardloop/mcp';

const url = 'https://mcp.example.com/mcp';
const auth = oauth({
  url,
  redirectUrl: 'http://127.0.0.1:3111/callback',
  clientName: 'My assistant',
  store: { load: () => secrets.get('anna'), save: (state) => void secrets.set('anna', state) }, // encrypted, one entry a person
  onSignIn: (address) => openBrowser(address),
});
const connect = () => mcpServer({ name: 'mail', url, auth });

async function connectOrSignIn(waitForCallback: () => Promise<URL>) {
  try {
    return await connect();
  } catch (error) {
    if (!(error instanceof McpUnavailable && error.needsSignIn)) throw error;
    await auth.finish(await waitForCallback()); // checks `state` and `iss`, and trades the code for tokens
    return connect();
  }
}
// #endregion
void connectOrSignIn;
await assert.rejects(auth.finish('http://127.0.0.1:3111/callback?code=x&state=y'), /none is under way/);
