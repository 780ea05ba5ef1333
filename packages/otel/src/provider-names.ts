import type { Settings } from './options.js';
import { safely } from './safely.js';

const mostModels = 1_000;

/** Who is behind a model's id: `gen_ai.provider.name`. */
export class ProviderNames {
  private readonly known = new Map<string, string>();

  constructor(private readonly settings: Settings) {}

  of(model: string): string | undefined {
    const given: unknown = safely('provider', () => this.settings.provider(model));
    return typeof given === 'string' && given !== '' ? given : this.known.get(model);
  }

  /** From `Model.provider`, such as `openai.chat`: the API that is spoken is no part of the name. */
  learn(model: string, provider: string): void {
    if (this.known.size < mostModels) this.known.set(model, provider.replace(/\.(chat|responses|messages)$/, ''));
  }
}
