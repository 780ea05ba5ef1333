import type { Keeping } from './conversation.js';
import { Conversation } from './conversation.js';

const mostOpen = 512;

interface Open {
  readonly conversation: Conversation;
  /** The run for which it was read last. */
  run: string | undefined;
}

/** The conversations of a vault, as far as this process has them open: those that were used last. */
export class Conversations {
  private readonly open = new Map<string, Open>();

  constructor(private readonly keeping: Keeping) {}

  /** Read from the store once for each run: what this process adds is known at once, and no other writes to the same run. */
  async inRun(name: string, run: string): Promise<Conversation> {
    const open = this.get(name);
    if (open.run !== run) {
      await open.conversation.reload();
      open.run = run;
    }
    return open.conversation;
  }

  /** As `inRun`, where that needs no waiting. */
  ready(name: string, run: string): Conversation | undefined {
    const open = this.open.get(name);
    return open?.run === run ? open.conversation : undefined;
  }

  /** As the store has it now. */
  async fresh(name: string): Promise<Conversation> {
    const { conversation } = this.get(name);
    await conversation.reload();
    return conversation;
  }

  async forget(name: string): Promise<void> {
    await this.get(name).conversation.clear();
  }

  private get(name: string): Open {
    const known = this.open.get(name);
    const open: Open = known ?? { conversation: new Conversation(name, this.keeping), run: undefined };
    // What was used last stands last.
    this.open.delete(name);
    this.open.set(name, open);
    const [oldest] = this.open.keys();
    if (this.open.size > mostOpen && oldest !== undefined) this.open.delete(oldest);
    return open;
  }
}
