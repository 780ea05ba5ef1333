import { fitsPattern } from '@guardloop/core';
import { describe, expect, it } from 'vitest';
import { mcpServer } from '../index.js';
import { byPattern } from './tool-pattern.js';

const program = { name: 'x', command: 'node' };
const remote = { name: 'x', url: 'https://x.example/mcp' };

describe('options of mcpServer', () => {
  it.each<[unknown, string]>([
    [undefined, 'no options'],
    [{ command: 'node' }, '`name`'],
    [{ name: 'a\u202eb', command: 'node' }, '`name`'],
    [{ name: 'x' }, 'not neither'],
    [{ ...program, url: 'https://x.example' }, 'not both'],
    [{ ...program, alow: ['a'] }, 'Did you mean'],
    [{ ...program, headers: {} }, 'belongs to a server with `url`'],
    [{ ...remote, args: [] }, 'belongs to a server with `command`'],
    [{ ...program, allow: 'read_*' }, '`allow`'],
    [{ ...program, allow: [7] }, '`allow`'],
    [{ ...program, approval: 'all' }, '`approval`'],
    [{ ...program, flow: { a: 'read' } }, '`flow`'],
    [{ ...program, flow: { a: { efect: 'read' } } }, 'Did you mean'],
    [{ ...program, flow: { a: { effect: 'delete' } } }, "'none' or 'read'"],
    [{ ...program, flow: { a: { authority: 'to' } } }, '`flow.authority`'],
    [{ ...program, hints: 'trusted' }, 'Did you mean'],
    [{ ...program, onUnavailable: 'ignore' }, "'throw' or 'skip'"],
    [{ ...program, connectTimeoutMs: 0 }, '`connectTimeoutMs`'],
    [{ ...program, requestTimeoutMs: 1.5 }, '`requestTimeoutMs`'],
    [{ ...program, maxMessageBytes: '10' }, '`maxMessageBytes`'],
    [{ ...program, checkDescription: 'no' }, '`checkDescription`'],
    [{ ...program, checkDescription: [{}] }, '`checkDescription`'],
    [{ ...program, onWarning: 1 }, '`onWarning`'],
    [{ ...program, guardrails: {} }, '`guardrails`'],
    [{ ...program, args: 'a b' }, '`args`'],
    [{ ...program, env: { A: 1 } }, '`env`'],
    [{ ...program, cwd: 1 }, '`cwd`'],
    [{ ...program, stderr: 'pipe' }, '`stderr`'],
    [{ name: 'x', command: ' ' }, '`command`'],
    [{ name: 'x', url: 'x.example' }, 'no URL'],
    [{ name: 'x', url: 'ftp://x.example' }, 'neither https nor http'],
    [{ name: 'x', url: 'http://x.example', headers: { a: 'b' } }, 'Use https'],
    [{ name: 'x', url: 'http://u:p@x.example' }, 'Use https'],
    [{ ...program, args: ['a\0b'] }, 'zero character'],
    [{ ...program, env: { 'A=B': 'x' } }, 'zero character'],
    [{ ...program, cwd: '/tmp\0' }, 'zero character'],
    [{ name: 'x', url: 'https://u:100%@x.example/mcp' }, '%25'],
    [{ name: 'x', url: 'https://%ff:p@x.example/mcp' }, '%25'],
    [{ ...remote, headers: { a: 1 } }, '`headers`'],
    [{ ...remote, headers: new Headers({ a: 'b' }) }, '`headers`'],
    [{ ...remote, auth: 'token' }, '`auth`'],
    [{ ...remote, fetch: {} }, '`fetch`'],
  ])('that are wrong are CONFIG_INVALID before anything is started: %j', async (options, words) => {
    await expect(mcpServer(options as never)).rejects.toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining(words) });
  });
});

describe('patterns of tools', () => {
  it('stand for any number of characters', () => {
    for (const [pattern, name] of [
      ['*', ''],
      ['read_*', 'read_'],
      ['*_file', 'read_file'],
      ['a*b*c', 'axxbxxc'],
      ['a.b', 'a.b'],
    ] as const)
      expect(fitsPattern(pattern, name)).toBe(true);
    for (const [pattern, name] of [
      ['read_*', 'read'],
      ['a*a', 'a'],
      ['a.b', 'axb'],
      ['a*b*c', 'acb'],
      ['', 'a'],
    ] as const)
      expect(fitsPattern(pattern, name)).toBe(false);
  });

  it('go after names, and the first that fits counts; names of objects’ own are none', () => {
    expect(byPattern({ '*': 1, 'a*': 2, ab: 3 }, 'ab')).toEqual({ pattern: 'ab', value: 3 });
    expect(byPattern({ '*': 1, 'a*': 2 }, 'ab')).toEqual({ pattern: '*', value: 1 });
    expect(byPattern({}, 'constructor')).toBeUndefined();
  });
});
