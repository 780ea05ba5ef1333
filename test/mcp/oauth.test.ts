import { defineAgent, run } from '@guardloop/core';
import type { McpServer, OAuthState } from '@guardloop/mcp';
import { mcpServer, oauth, pinsOf } from '@guardloop/mcp';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { protectedServer } from './authorization-server.js';
import { fakeServer } from './fake-server.js';

const redirectUrl = 'http://127.0.0.1:9/callback';

const setUp = async () => {
  const server = await protectedServer();
  const addresses: URL[] = [];
  let kept: OAuthState | undefined;
  const store = {
    load: () => kept,
    save: (state: OAuthState) => {
      kept = JSON.parse(JSON.stringify(state)) as OAuthState;
    },
  };
  const auth = oauth({ url: server.url, redirectUrl, clientName: 'Test', store, onSignIn: (address) => void addresses.push(address) });
  const connect = async (): Promise<McpServer> => {
    const mcp = await mcpServer({ name: 'private', url: server.url, auth });
    onTestFinished(() => mcp.close());
    return mcp;
  };
  /** The person's browser: follows the address, and gives where it was sent back to. */
  const agree = async (): Promise<URL> => {
    const response = await fetch(addresses.at(-1) ?? '', { redirect: 'manual' });
    return new URL(response.headers.get('location') ?? '');
  };
  return { server, auth, addresses, connect, agree };
};
const callOnce = async (mcp: McpServer) => {
  const model = scriptedModel([callTool('private__read'), say('ok')]);
  const result = await run(defineAgent({ name: 'a', instructions: '', model, tools: [...mcp.tools] }), 'go');
  expect(auditLog(result.log)).toEqual([]);
  return { result, end: result.events.flatMap((event) => (event.type === 'tool.end' ? [event] : []))[0] };
};

describe('OAuth', () => {
  it('asks for a sign-in, takes the code with its verifier, and calls with the token', async () => {
    const { server, auth, addresses, connect, agree } = await setUp();
    await expect(connect()).rejects.toMatchObject({
      name: 'McpUnavailable',
      needsSignIn: true,
      message: 'Server private asks for a sign-in by a person.',
    });
    expect(addresses).toHaveLength(1);
    expect(addresses[0]?.searchParams.get('code_challenge_method')).toBe('S256');
    expect(addresses[0]?.searchParams.get('resource')).toBe(server.url);
    await auth.finish(await agree());
    const { end, result } = await callOnce(await connect());
    expect(end).toMatchObject({ status: 'ok', content: 'private', label: { integrity: 'untrusted' } });
    for (const token of server.tokens) expect(JSON.stringify(result)).not.toContain(token);
  });

  it('asks a person once, however many calls need the sign-in, and the address that was shown stays good', async () => {
    const { server, auth, addresses, agree, connect } = await setUp();
    const pins = await (async () => {
      await expect(connect()).rejects.toThrow();
      await auth.finish(await agree());
      return pinsOf(await connect());
    })();
    server.tokens.clear();
    server.refreshTokens.clear();
    const mcp = await mcpServer({ name: 'private', url: server.url, auth, pins, onUnavailable: 'skip' });
    onTestFinished(() => mcp.close());
    for (let time = 0; time < 3; time += 1) expect((await callOnce(mcp)).end).toMatchObject({ status: 'error', errorClass: 'unavailable' });
    expect(addresses).toHaveLength(2);
    await auth.finish(await agree());
    expect((await callOnce(mcp)).end).toMatchObject({ status: 'ok', content: 'private' });
  });

  it('refreshes a token that has run out, during a call, without a person', async () => {
    const { server, auth, addresses, connect, agree } = await setUp();
    await expect(connect()).rejects.toThrow();
    await auth.finish(await agree());
    const mcp = await connect();
    server.tokens.clear();
    expect((await callOnce(mcp)).end).toMatchObject({ status: 'ok' });
    expect(addresses).toHaveLength(1);
    expect(server.calls).toEqual(['read']);
  });

  it('tells a call that a person has to sign in again, when nothing is good any more; it did not run', async () => {
    const { server, auth, connect, agree } = await setUp();
    await expect(connect()).rejects.toThrow();
    await auth.finish(await agree());
    const mcp = await connect();
    server.tokens.clear();
    server.refreshTokens.clear();
    const { end } = await callOnce(mcp);
    expect(end).toMatchObject({
      status: 'error',
      errorClass: 'unavailable',
      retryable: false,
      content: expect.stringContaining('sign-in by a person'),
    });
    expect(server.calls).toEqual([]);
  });

  it('refuses an answer that belongs to another sign-in, names another server, was refused, or is used twice', async () => {
    const { auth, connect, agree, server } = await setUp();
    await expect(auth.finish(`${redirectUrl}?code=x&state=y`)).rejects.toThrow('none is under way');
    await expect(connect()).rejects.toThrow();
    const back = await agree();
    const changed = (name: string, value: string | undefined): URL => {
      const url = new URL(back);
      if (value === undefined) url.searchParams.delete(name);
      else url.searchParams.set(name, value);
      return url;
    };
    await expect(auth.finish(changed('state', 'other'))).rejects.toThrow('that of another one');
    await expect(auth.finish(changed('state', undefined))).rejects.toThrow('that of another one');
    await expect(auth.finish(changed('iss', 'https://evil.example'))).rejects.toThrow('from another authorization server');
    await auth.finish(back);
    await expect(auth.finish(back)).rejects.toThrow('none is under way');
    expect(server.tokens.size).toBe(1);

    const other = await setUp();
    await expect(other.connect()).rejects.toThrow();
    const denied = await other.agree();
    denied.searchParams.delete('code');
    denied.searchParams.set('error', 'access_denied');
    await expect(other.auth.finish(denied)).rejects.toThrow('the person refused');
    await expect(other.connect()).rejects.toThrow();
    const bad = await other.agree();
    bad.searchParams.set('code', 'made-up');
    await expect(other.auth.finish(bad)).rejects.toThrow(
      /^The sign-in was not finished: the authorization server did not take the code\.$/,
    );
  });

  it('opens no address that is not one for a browser', async () => {
    const { server, connect, addresses } = await setUp();
    for (const address of ['javascript:alert(1)', 'http://evil.example/authorize', 'file:///etc/passwd']) {
      server.metadata = { authorization_endpoint: address };
      await expect(connect()).rejects.toMatchObject({ name: 'McpUnavailable' });
    }
    expect(addresses).toEqual([]);
  });

  it('gives the tokens of one server to no other', async () => {
    const { auth } = await setUp();
    const other = await fakeServer();
    await expect(mcpServer({ name: 'x', url: other.url, auth })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('sign-in for another server'),
    });
    expect(other.messages).toEqual([]);
  });

  it.each([
    [{ url: 'nowhere' }, '`url` that is no URL'],
    [{ url: 'http://example.com/mcp' }, 'neither with https'],
    [{ redirectUrl: 'ftp://x' }, '`redirectUrl`'],
    [{ clientName: ' ' }, '`clientName`'],
    [{ onSignIn: undefined }, '`onSignIn`'],
  ])('refuses wrong options: %j', (change, words) => {
    const options = { url: 'https://example.com/mcp', redirectUrl, clientName: 'Test', onSignIn: () => undefined, ...change };
    expect(() => oauth(options as never)).toThrow(words);
  });
});
