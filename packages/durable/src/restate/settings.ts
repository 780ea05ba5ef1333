import type { LoggerTransport } from '@restatedev/restate-sdk';

/** Where the log lines of Restate's SDK go. */
export type RestateLogger = LoggerTransport;

/** The options of `restateEngine`, read. */
export interface RestateSettings {
  readonly ingressUrl: string;
  readonly adminUrl: string | undefined;
  readonly service: string;
  readonly host: string;
  readonly port: number;
  readonly advertiseUrl: string | undefined;
  readonly headers: { readonly [name: string]: string };
  readonly identityKeys: readonly string[];
  readonly lookMs: number | undefined;
  readonly keepMs: number;
  readonly kickMs: number;
  readonly holdMs: number;
  readonly logger: RestateLogger;
}

export const silent: RestateLogger = () => undefined;
