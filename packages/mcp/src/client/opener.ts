import type { Opened } from './connection.js';
import { openHttp } from './http-transport.js';
import { serverOfSignIn } from './oauth.js';
import type { LocalServerOptions, McpServerOptions, RemoteServerOptions } from './options.js';
import { invalid, isTextsByName } from './options.js';

interface OpenSettings {
  readonly maxMessageBytes: number;
}

/** Makes what opens a new way to the server. What needs Node is loaded only for a server that is a program. */
export function opener<C>(options: McpServerOptions<C>, settings: OpenSettings): () => Promise<Opened> {
  return options.command === undefined ? openRemote(options, settings) : openLocal(options, settings);
}

function openLocal<C>(
  { name, command, args, env, cwd, stderr }: LocalServerOptions<C>,
  { maxMessageBytes }: OpenSettings,
): () => Promise<Opened> {
  const place = { serverName: name, command, args: args ?? [], env: env ?? {}, cwd, stderr: stderr ?? 'ignore', maxMessageBytes } as const;
  return async () => {
    const { openStdio } = await import('./stdio-transport.js');
    return { transport: openStdio(place) };
  };
}

function openRemote<C>(
  { name, url, headers, auth, fetch: given }: RemoteServerOptions<C>,
  { maxMessageBytes }: OpenSettings,
): () => Promise<Opened> {
  const place = new URL(url);
  const signedFor = auth === undefined ? undefined : serverOfSignIn(auth);
  if (signedFor !== undefined && signedFor !== place.href)
    invalid(`MCP server ${name} is given a sign-in for another server. Make one with its own \`url\`.`);
  const { username, password } = place;
  place.username = '';
  place.password = '';
  place.hash = '';
  // A request with a name and password in its address is none; they are sent as what they stand for.
  const basic =
    username === '' && password === '' ? undefined : `Basic ${base64(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`)}`;
  const allHeaders = async (): Promise<Readonly<Record<string, string>>> => ({
    ...(basic === undefined ? {} : { authorization: basic }),
    ...(typeof headers === 'function' ? textsByName(await headers()) : headers),
  });
  return async () => {
    const { transport, http } = openHttp({
      serverName: name,
      url: place,
      headers: allHeaders,
      auth,
      fetch: given ?? ((target, init) => globalThis.fetch(target, init)),
      maxMessageBytes,
    });
    return { transport, leave: () => http.terminateSession() };
  };
}

/** Of the text in UTF-8: a name or password may have any characters. */
const base64 = (text: string): string => btoa(Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join(''));

/** Throws where a function made no headers: nothing is sent without the credentials that it should have given. */
function textsByName(made: unknown): Readonly<Record<string, string>> {
  if (!isTextsByName(made)) throw new TypeError('The function made no headers.');
  return made;
}
