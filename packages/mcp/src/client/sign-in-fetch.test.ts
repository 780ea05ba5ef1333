import { describe, expect, it } from 'vitest';
import { signInFetch } from './oauth.js';

describe('what belongs to a sign-in', () => {
  it('is asked over https, or on this machine for a server of this machine', async () => {
    const asked: string[] = [];
    const fetch = (target: string | URL): Promise<Response> => {
      asked.push(String(target));
      return Promise.resolve(new Response());
    };
    const far = signInFetch(fetch, new URL('https://mcp.example.com/mcp'));
    const near = signInFetch(fetch, new URL('http://127.0.0.1:4000/mcp'));
    const refused = ['http://169.254.169.254/latest/meta-data', 'http://internal.example/token', 'http://[fd00::1]/'];
    const here = ['http://127.0.0.1:8080/token', 'http://localhost/x', 'https://[::1]/x'];
    for (const target of [...refused, ...here]) await expect(far(target)).rejects.toThrow('neither https');
    for (const target of refused) await expect(near(target)).rejects.toThrow('neither https');
    expect(asked).toEqual([]);
    for (const target of here) await near(target);
    await far('https://login.example.com/token');
    expect(asked).toEqual([...here, 'https://login.example.com/token']);
  });
});
