import type { SecretKind } from './kind.js';
import { aiKinds } from './kinds/ai.js';
import { cloudKinds } from './kinds/cloud.js';
import { codeKinds } from './kinds/code.js';
import { commerceKinds } from './kinds/commerce.js';
import { communicationKinds } from './kinds/communication.js';
import { dataKinds } from './kinds/data.js';
import { identityKinds } from './kinds/identity.js';
import { infrastructureKinds } from './kinds/infrastructure.js';
import { keyKinds } from './kinds/keys.js';
import { monitoringKinds } from './kinds/monitoring.js';
import { urlKinds } from './kinds/urls.js';

const all = [
  ...aiKinds,
  ...cloudKinds,
  ...codeKinds,
  ...communicationKinds,
  ...commerceKinds,
  ...infrastructureKinds,
  ...monitoringKinds,
  ...dataKinds,
  ...identityKinds,
  ...keyKinds,
  ...urlKinds,
] as const;

/** Kinds that are known by no format of their own, but by how they are written: `password = "…"`, `curl -u name:…`. */
export const writtenKinds = [
  { id: 'password', words: 'password', group: 'generic' },
  { id: 'secret-value', words: 'value of a field that is named as a secret', group: 'generic' },
  { id: 'command-credentials', words: 'login in a command', group: 'urls' },
] as const;

/** Ids of all kinds that `secrets` knows. */
export type SecretKindId = (typeof all)[number]['id'] | (typeof writtenKinds)[number]['id'];

/** Kinds with a format, as data. */
export const builtInKinds: readonly (SecretKind & { readonly id: SecretKindId })[] = all;
