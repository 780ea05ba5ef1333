/** A URL, a domain or an e-mail address that stands in a text. */
export interface FoundUrl {
  /** UTF-16 offset in the text. */
  readonly start: number;
  /** Exclusive. */
  readonly end: number;
  /**
   * `url`: with a scheme, or `//` or `\\` before the host. `domain`: a bare name such as `x.com/path` or `www.x.com`. `address`: a bare IPv4
   * address. `email`: an e-mail address, bare or in a `mailto:`.
   */
  readonly kind: 'url' | 'domain' | 'address' | 'email';
  /** As a browser writes it out: decoded, with a lower-case ASCII host. Of one that names no scheme with `https:`, of an e-mail address with `mailto:`. */
  readonly url: string;
  /** Lower case, without the colon; empty where the text names none. */
  readonly scheme: string;
  /** Lower case and ASCII (`xn--…`), IP addresses in their usual form, IPv6 in brackets. Empty: it names none, as `data:` does, or cannot be read. */
  readonly host: string;
  /** Empty: the usual one of the scheme. */
  readonly port: string;
  /** A user name or password stands before the host. */
  readonly hasCredentials: boolean;
  /** No browser can read it, or programs read different hosts in it. */
  readonly isOdd: boolean;
  /** It stands within another one, as a redirect's destination does. */
  readonly isNested: boolean;
}
