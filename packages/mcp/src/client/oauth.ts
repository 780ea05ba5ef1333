import type { Awaitable } from '@guardloop/core';
import { checkOptionNames } from '@guardloop/core/model';
import type { OAuthClientProvider, OAuthDiscoveryState } from '@modelcontextprotocol/sdk/client/auth.js';
import { auth } from '@modelcontextprotocol/sdk/client/auth.js';
import type { OAuthClientInformationMixed, OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js';
import type { FetchLike } from '@modelcontextprotocol/sdk/shared/transport.js';
import { invalid, isLoopback } from './options.js';

/** What a sign-in keeps: tokens, the registration of this client, what was found out about the authorization server. Plain JSON, secret. */
export interface OAuthState {
  readonly tokens?: OAuthTokens | undefined;
  readonly client?: OAuthClientInformationMixed | undefined;
  readonly discovery?: OAuthDiscoveryState | undefined;
  /** Of a sign-in under way. */
  readonly verifier?: string | undefined;
  readonly state?: string | undefined;
}
/** A person is asked again only after so long: calls that need a sign-in may come one after the other. */
const askAgainMs = 60_000;

/** Where it is kept: one entry for one person and one server. */
export interface OAuthStore {
  load(): Awaitable<OAuthState | undefined>;
  save(state: OAuthState): Awaitable<void>;
}
/** What `oauth` takes. */
export interface OAuthOptions {
  /** The server's, as it is given to `mcpServer`: tokens go to no other. */
  readonly url: string | URL;
  /** Where the authorization server sends the person back to. */
  readonly redirectUrl: string | URL;
  /** How this client calls itself when it registers. */
  readonly clientName: string;
  /** Scopes to ask for, where the server names none. */
  readonly scope?: string | undefined;
  /** A registration that was made by hand; `issuer` is the authorization server it belongs to, and it is shown to no other. */
  readonly client?: { readonly id: string; readonly secret?: string | undefined; readonly issuer: string } | undefined;
  /** Default: memory, so that a person signs in anew after each start. */
  readonly store?: OAuthStore | undefined;
  /**
   * Called with the address at which the person signs in: open it, or show it. It begins with https, or with http on this machine. While a
   * sign-in is under way it is called once a minute at most.
   */
  readonly onSignIn: (address: URL) => Awaitable<void>;
  /** Default: the global one. */
  readonly fetch?: FetchLike | undefined;
}
/** A sign-in: what `mcpServer` takes as `auth`. */
export type OAuthSignIn = OAuthClientProvider & {
  /**
   * Ends the sign-in with the address to which the person was sent back. Rejects where its `state` is not that of this sign-in, where it says
   * that the person refused, or where the code is not taken. Connect anew with `mcpServer` then.
   */
  finish(address: string | URL): Promise<void>;
};

const servers = new WeakMap<object, string>();

/** The server that a sign-in is for; undefined for a provider of somebody else's. */
export function serverOfSignIn(provider: object): string | undefined {
  return servers.get(provider);
}

const optionNames = {
  url: true,
  redirectUrl: true,
  clientName: true,
  scope: true,
  client: true,
  store: true,
  onSignIn: true,
  fetch: true,
} as const satisfies { readonly [K in keyof OAuthOptions]-?: true };

/** OAuth 2.1 with PKCE for one remote server and one person, by the SDK. Throws CONFIG_INVALID. */
export function oauth(options: OAuthOptions): OAuthSignIn {
  checkOptionNames('oauth(…)', options, optionNames);
  const { clientName, onSignIn } = options;
  const url = readAddress('url', options.url);
  const redirectUrl = readAddress('redirectUrl', options.redirectUrl);
  if (typeof clientName !== 'string' || clientName.trim() === '')
    invalid('oauth has no `clientName`. Give the name under which a person knows this program.');
  if (typeof onSignIn !== 'function') invalid('oauth has no `onSignIn`. Give a function that opens or shows the address it is given.');
  const signIn = new SignIn(options, { url, redirectUrl: redirectUrl.href });
  servers.set(signIn, url.href);
  return signIn;
}

function readAddress(name: string, given: unknown): URL {
  let address: URL;
  try {
    address = new URL(String(given));
  } catch {
    return invalid(`oauth has \`${name}\` that is no URL.`);
  }
  if (!isSafe(address)) invalid(`oauth has \`${name}\` that begins neither with https nor with http on this machine.`);
  return address;
}

const isSafe = (address: URL): boolean => address.protocol === 'https:' || (address.protocol === 'http:' && isLoopback(address.hostname));

/**
 * Asks what belongs to a sign-in. The server names these addresses, so none leads where it could not be asked itself: https, or http on this
 * machine for a server of this machine. Else a server far away could have this program ask what only it can reach.
 */
export function signInFetch(fetch: FetchLike, server: URL): FetchLike {
  return async (target, init) => {
    const { protocol, hostname } = new URL(target);
    const isHere = isLoopback(hostname);
    if (isHere ? !isLoopback(server.hostname) : protocol !== 'https:')
      throw new Error(
        'The server names an address for the sign-in that is neither https nor, for a server of this machine, on this machine.',
      );
    return fetch(target, init);
  };
}

class SignIn implements OAuthSignIn {
  readonly redirectUrl: string;
  private readonly options: OAuthOptions;
  private readonly url: URL;
  private readonly store: OAuthStore;
  private askedAt = Number.NEGATIVE_INFINITY;

  constructor(options: OAuthOptions, { url, redirectUrl }: { readonly url: URL; readonly redirectUrl: string }) {
    this.options = options;
    this.url = url;
    this.redirectUrl = redirectUrl;
    this.store = options.store ?? memoryStore();
  }

  get clientMetadata(): OAuthClientProvider['clientMetadata'] {
    const { clientName, scope, client } = this.options;
    return {
      client_name: clientName,
      redirect_uris: [this.redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: client?.secret === undefined ? 'none' : 'client_secret_basic',
      ...(scope === undefined ? {} : { scope }),
    };
  }

  async clientInformation(): Promise<OAuthClientInformationMixed | undefined> {
    const { client } = this.options;
    if (client === undefined) return (await this.load()).client;
    return { client_id: client.id, issuer: client.issuer, ...(client.secret === undefined ? {} : { client_secret: client.secret }) };
  }

  async saveClientInformation(client: OAuthClientInformationMixed): Promise<void> {
    if (this.options.client === undefined) await this.change({ client });
  }

  async tokens(): Promise<OAuthTokens | undefined> {
    return (await this.load()).tokens;
  }

  saveTokens(tokens: OAuthTokens): Promise<void> {
    return this.change({ tokens, verifier: undefined, state: undefined });
  }

  /** The state of a sign-in that a person was asked for a moment ago and has not finished; its address stays the one that counts. */
  private async underWay(): Promise<string | undefined> {
    const { state, verifier } = await this.load();
    return verifier !== undefined && Date.now() - this.askedAt < askAgainMs ? state : undefined;
  }

  async state(): Promise<string> {
    const known = await this.underWay();
    if (known !== undefined) return known;
    this.askedAt = Number.NEGATIVE_INFINITY;
    const state = Array.from(globalThis.crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
    await this.change({ state });
    return state;
  }

  async saveCodeVerifier(verifier: string): Promise<void> {
    if ((await this.underWay()) === undefined) await this.change({ verifier });
  }

  async codeVerifier(): Promise<string> {
    const { verifier } = await this.load();
    if (verifier === undefined) throw new Error('No sign-in is under way. Connect with `mcpServer` first.');
    return verifier;
  }

  async redirectToAuthorization(address: URL): Promise<void> {
    // The address comes from a party that is not trusted, and a person's browser is to open it.
    if (!isSafe(address))
      throw new Error(
        'The authorization server names an address for the sign-in that begins neither with https nor with http on this machine.',
      );
    if ((await this.underWay()) !== undefined) return;
    await this.options.onSignIn(address);
    this.askedAt = Date.now();
  }

  saveDiscoveryState(discovery: OAuthDiscoveryState): Promise<void> {
    return this.change({ discovery });
  }

  async discoveryState(): Promise<OAuthDiscoveryState | undefined> {
    return (await this.load()).discovery;
  }

  async invalidateCredentials(scope: 'all' | 'client' | 'tokens' | 'verifier' | 'discovery'): Promise<void> {
    const none = { tokens: undefined, client: undefined, verifier: undefined, state: undefined, discovery: undefined };
    await this.change(scope === 'all' ? none : { [scope]: undefined });
  }

  async finish(given: string | URL): Promise<void> {
    const { searchParams } = new URL(given, this.redirectUrl);
    const { state, discovery } = await this.load();
    const refuse = (why: string): never => {
      throw new Error(`The sign-in was not finished: ${why}`);
    };
    if (state === undefined) refuse('none is under way. Connect with `mcpServer` first.');
    if (searchParams.get('state') !== state) refuse('its `state` is that of another one.');
    const issuer = discovery?.authorizationServerMetadata?.issuer;
    const said = searchParams.get('iss');
    // RFC 9207: the answer names another server than the one that was asked.
    if (said !== null && issuer !== undefined && said !== issuer) refuse('it comes from another authorization server.');
    const code = searchParams.get('code');
    // An answer is used once, whatever comes of it.
    await this.change({ state: undefined });
    if (code === null)
      return refuse(searchParams.get('error') === 'access_denied' ? 'the person refused.' : 'the authorization server gave no code.');
    let result: string;
    try {
      result = await auth(this, {
        serverUrl: this.url,
        authorizationCode: code,
        fetchFn: signInFetch(this.options.fetch ?? globalThis.fetch, this.url),
      });
    } catch {
      // What was thrown may quote bodies and codes.
      return refuse('the authorization server did not take the code.');
    }
    if (result !== 'AUTHORIZED') refuse('the authorization server gave no token.');
  }

  private async load(): Promise<OAuthState> {
    return (await this.store.load()) ?? {};
  }

  private async change(change: OAuthState): Promise<void> {
    await this.store.save({ ...(await this.load()), ...change });
  }
}

function memoryStore(): OAuthStore {
  let kept: OAuthState | undefined;
  return {
    load: () => kept,
    save: (state) => {
      kept = state;
    },
  };
}
